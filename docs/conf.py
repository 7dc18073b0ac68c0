"""How Sphinx reads these pages: Markdown, built strictly, with every name that is mentioned looked
up.
"""

from __future__ import annotations

from importlib import metadata

from pygments.lexers.special import TextLexer

project = "jsproto"
author = "The jsproto authors"
copyright = "2026, The jsproto authors"  # noqa: A001  Sphinx's word
release = metadata.version("nats-jsproto")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "jsproto"
html_show_sourcelink = False


def setup(app):
    """A configuration of nats-server has a language of its own; it is shown as it is."""
    app.add_lexer("conf", TextLexer)

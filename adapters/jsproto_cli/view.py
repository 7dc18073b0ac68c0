"""`jsproto view`: write a trace as one HTML page that loads nothing else.

Theory. `jsproto.trace.show.view` makes the data of the page. The folder ``page`` beside this file
holds its HTML, CSS and scripts; this module puts them into one file. The data is compressed and in
base64, so no byte of a trace can be parsed as HTML. The page's policy runs only code with the right
hash, and allows no loading.

Exit codes: 0 the page is written; 1 the trace cannot be read, or the page cannot be written; 2
invalid arguments.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
import zlib
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jsproto.trace.formats.reading import TraceError
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.show.view import Viewing
from jsproto_cli.traces import failed, located, opened

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Scripts of the page, in the order of their dependencies.
SCRIPTS: Final = ("data.js", "fold.js", "ladder.js", "timeline.js", "detail.js", "main.js")

_RANGE: Final = re.compile(r"([0-9]{0,12})-([0-9]{0,12})").fullmatch


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand ``view`` to the command line."""
    words = commands.add_parser("view", help="a trace as a page for a browser", description=__doc__)
    words.add_argument("path", type=Path, metavar="TRACE")
    words.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.html",
        help="the page (by default the trace's name, in this folder)",
    )
    words.add_argument(
        "--lines",
        type=_lines,
        default=(1, None),
        metavar="FIRST-LAST",
        help="show only these lines of the trace",
    )
    words.add_argument(
        "--keep",
        choices=[keep.value.lower() for keep in Keep],
        default="full",
        help="how much of the users' data is shown (full: all that the trace holds)",
    )
    words.add_argument("--json", action="store_true", help="print one JSON object about the page")
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Run ``view``; 0 if the page is written."""
    output: Path = words.output or Path(words.path.with_suffix(".html").name)
    viewing = Viewing(Keep(words.keep.upper()), *words.lines)
    try:
        with opened(words.path) as trace:
            for line, record in trace.records():
                viewing.feed(line, record)
    except (TraceError, OSError) as error:
        return failed(located(words.path, error))
    viewing.finish()
    data = page(viewing, words.path.name, trace.about).encode(errors="xmlcharrefreplace")
    try:
        output.write_bytes(data)
    except OSError as error:
        return failed(located(output, error))
    rows, left_out = len(viewing.table), viewing.left_out
    if words.json:
        told = {"file": str(output), "rows": rows, "left_out": left_out, "bytes": len(data)}
        print(json.dumps(told))
        return 0
    print(f"{output}: {rows} rows, {len(data)} bytes")
    if left_out:
        print(
            f"{left_out} more rows are not shown: --lines FIRST-LAST shows others", file=sys.stderr
        )
    return 0


def page(viewing: Viewing, name: str, about: Mapping[str, str]) -> str:
    """The HTML of a finished view."""
    style = _part("page.css")
    script = "".join(_part(each) for each in SCRIPTS)
    columns = json.dumps(viewing.as_json(name, about), separators=(",", ":"), allow_nan=False)
    return _filled(
        _part("page.html"),
        {
            "policy": (
                f"default-src 'none'; style-src '{_digest(style)}'; "
                f"script-src '{_digest(script)}'; "
                "base-uri 'none'; form-action 'none'"
            ),
            "title": html.escape(name),
            "style": style,
            "script": script,
            "columns": b64encode(zlib.compress(columns.encode())).decode(),
            "blocks": "\n".join(b64encode(block).decode() for block in viewing.table.blocks),
        },
    )


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with all placeholders replaced in one pass, so parts are not parsed again."""
    return re.sub(r"\{([a-z]+)\}", lambda place: parts[place[1]], template)


def _part(name: str) -> str:
    return files("jsproto_cli").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _lines(text: str) -> tuple[int, int | None]:
    found = _RANGE(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"expected lines as FIRST-LAST, FIRST- or -LAST, got {text!r}"
        )
    return int(found[1] or 1), int(found[2]) if found[2] else None

"""Writes the friendly methods, in two colours, from the one pure facade: ``python -m
jsproto_io._client.generate``.

The facade (`jsproto.jetstream.context`) says what there is: signatures, docstrings, and by its
return annotations which verb each description wants. This script puts the verb around each call and
writes a ``facade.py`` for each colour, over its client, `Feed` and `Sink`. The clients without
``await``, and the blocking backup, are made of those with ``await``; see
`jsproto_io._client.uncolour`.
Nothing is written by hand there; a test writes them again and compares. ``--check`` says whether
they are fresh and changes nothing.

What comes out is formatted as the formatter would: every parameter has its line.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Final, final

import attrs

from jsproto.jetstream import context
from jsproto_io._client.uncolour import MADE, blocking

#: The package that the files are written into.
_PACKAGE: Final = Path(__file__).parent.parent
_HANDLES: Final = (
    context.JetStream,
    context.Meta,
    context.System,
    context.Stream,
    context.StoredMessages,
    context.Consumer,
)
_MODULES: Final = tuple(sys.modules[each.__module__] for each in _HANDLES)
_NAMES: Final = tuple(each.__name__ for each in _HANDLES)
#: The longest line that the formatter leaves as it is, with its line break.
_LONGEST: Final = 101

#: What a description returned by the facade wants: the verb, and the type of what the verb gives.
_WANTS: Final = {
    "Procedure": ("run", ""),
    "Gather": ("run", ""),
    "NextMessage": ("run", "{colour}Message"),
    "Fetch": ("stream", "Feed[{colour}Message, Fetch[JsMessage]]"),
    "Consume": ("stream", "Feed[{colour}Message, Consume[JsMessage]]"),
    "AckNext": ("stream", "Feed[{colour}Message, AckNext[JsMessage]]"),
    "PushSubscription": ("stream", "Feed[{colour}Message, PushSubscription[JsMessage]]"),
    "OrderedConsumer": ("stream", "Feed[{colour}Message, OrderedConsumer[JsMessage]]"),
    "RangeReader": ("stream", "Feed[Rows, RangeReader]"),
    "Snapshot": ("stream", "Feed[bytes, Snapshot]"),
    "Restore": ("sink", "Sink[StreamInfo, Restore, bytes]"),
    "DirectBatch": ("stream", "Feed[StoredMessage, DirectBatch]"),
    "PublishWindow": ("sink", "Sink[PublishResult, PublishWindow, ToPublish]"),
    "WholeBatch": ("run", "PubAck"),
    "BatchPublish": ("sink", "Sink[PubAck, BatchPublish, ToPublish]"),
    "FastIngest": ("sink", "Sink[IngestResult, FastIngest, ToPublish]"),
}

_HEADER: Final = '''"""JetStream with {how}: written by ``_client/generate.py`` from `jsproto.jetstream.context`. Do not edit."""

{noqa}from __future__ import annotations
'''

_CLASS: Final = '''

@final
class {colour}{name}:
    """{doc}"""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: {colour}Client, pure: {name}) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"{colour}{{self._pure!r}}"
'''


@final
@attrs.frozen
class Colour:
    """One of the two ways to wait."""

    name: str
    how: str
    file: str
    prefix: str
    wait: str
    noqa: str


_NOQA: Final = "# ruff: noqa: ASYNC109 - the core keeps the time\n\n"

ASYNC: Final = Colour("Async", "``await``", "_async_client/facade.py", "async def", "await ", _NOQA)
SYNC: Final = Colour("Sync", "plain calls", "_sync_client/facade.py", "def", "", "")


def facade(colour: Colour) -> str:
    """The text of one file."""
    writer = _Writer(colour)
    body = "".join(writer.handle(each) for each in _HANDLES)
    header = _HEADER.format(how=colour.how, noqa=colour.noqa)
    shown = ", ".join(f"{colour.name}{name}" for name in ("JetStream", "Stream", "Consumer"))
    return f"{header}\n{writer.imports()}{body}\n\nshow_settings({shown})\n"


class _Writer:
    """Writes one file and remembers which names it used."""

    def __init__(self, colour: Colour) -> None:
        self._colour = colour
        self._used: set[str] = {"final", "show_settings", *_NAMES}

    # ------------------------------------------------------------------ classes and methods

    def handle(self, pure: type[attrs.AttrsInstance]) -> str:
        """A class around one class of the facade."""
        text = _CLASS.format(
            colour=self._colour.name,
            name=pure.__name__,
            doc=(inspect.getdoc(pure) or "").split("\n")[0],
        )
        for each in attrs.fields(pure):
            if each.init and not each.name.startswith("_"):
                text += self._attribute(
                    each.name, str(each.type), f"As in `jsproto.jetstream.context.{pure.__name__}`."
                )
        for name, member in vars(pure).items():
            if name.startswith("_"):
                continue
            if isinstance(member, property) and member.fget is not None:
                returns = str(inspect.signature(member.fget).return_annotation)
                text += self._attribute(name, returns, inspect.getdoc(member) or "")
            elif inspect.isfunction(member):
                text += self._method(name, inspect.signature(member), inspect.getdoc(member) or "")
        return text

    def _attribute(self, name: str, kind: str, doc: str) -> str:
        value = f"self._pure.{name}"
        if kind in _NAMES:
            kind = self._colour.name + kind
            value = f"{kind}(self._nc, {value})"
        return f'\n    @property\n    def {name}(self) -> {self._noted(kind)}:\n        """{_indented(doc, 8)}"""\n        return {value}\n'

    def _method(self, name: str, signature: inspect.Signature, doc: str) -> str:
        colour = self._colour
        returns = str(signature.return_annotation)
        parameters = [each for each in signature.parameters.values() if each.name != "self"]
        kind, _, inner = returns.partition("[")
        inner = inner.removesuffix("]")
        call = f"self._pure.{name}()"
        body = ""
        if parameters:
            lines = "".join(f"            {each},\n" for each in _arguments(parameters))
            body = f"        described = self._pure.{name}(\n{lines}        )\n"
            call = "described"
        if kind in _NAMES:
            define, given, value = (
                "def",
                f"{colour.name}{kind}",
                f"{colour.name}{kind}(self._nc, {call})",
            )
        else:
            verb, gives = _WANTS[kind]
            given = gives.format(colour=colour.name) or inner
            waits = verb == "run"
            define = colour.prefix if waits else "def"
            value = f"{colour.wait if waits else ''}self._nc.{verb}({call})"
            if inner in _NAMES:
                given = f"{colour.name}{inner}"
                value = f"{given}(self._nc, {value})"
        head = f"    {define} {name}({self._parameters(parameters)}) -> {self._noted(given)}:\n"
        return f'\n{head}        """{_indented(doc, 8)}"""\n{body}        return {value}\n'

    def _parameters(self, parameters: list[inspect.Parameter]) -> str:
        if not parameters:
            return "self"
        lines = ["self"]
        starred = False
        for each in parameters:
            if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
                starred = True
                lines.append("*")
            star = "**" if each.kind is inspect.Parameter.VAR_KEYWORD else ""
            default = (
                "" if each.default is inspect.Parameter.empty else f" = {self._value(each.default)}"
            )
            lines.append(f"{star}{each.name}: {self._noted(str(each.annotation))}{default}")
        return "\n" + "".join(f"        {line},\n" for line in lines) + "    "

    def _value(self, default: object) -> str:
        if isinstance(default, Enum):
            return self._noted(f"{type(default).__name__}.{default.name}")
        for name, value in (pair for module in _MODULES for pair in vars(module).items()):
            if value is default and name.isupper() and not isinstance(value, (int, float)):
                return self._noted(name)
        return repr(default).replace("'", '"')

    # ------------------------------------------------------------------ names and where they come from

    def _noted(self, code: str) -> str:
        """The code as it is; the names in it are imported."""
        code = code.replace("'", '"')
        self._used.update(re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", code)))
        return code

    def imports(self) -> str:
        """Imports of what was used, as the linter sorts them. The client's module imports this
        file, so checkers alone see that one.
        """
        self._used |= {f"{self._colour.name}Client", "TYPE_CHECKING"}
        places = dict(_places())
        wanted: dict[str, list[str]] = {}
        for name in self._used & places.keys():
            wanted.setdefault(places[name], []).append(name)
        modules = sorted(wanted, key=lambda module: (module.startswith("jsproto"), module))
        text = ""
        for at, module in enumerate(modules):
            if at and module.startswith("jsproto") and not modules[at - 1].startswith("jsproto"):
                text += "\n"
            text += _import(module, wanted[module])
        text += "\nif TYPE_CHECKING:\n"
        room = f"jsproto_io._{self._colour.name.lower()}_client"
        client = f"{self._colour.name}Client"
        for part, name in (("client", client), ("feed", "Feed"), ("sink", "Sink")):
            text += f"    from {room}.{part} import {name}\n"
        return text


def _places() -> Iterable[tuple[str, str]]:
    """Every name that a signature of the facade can use, and the module that it comes from."""
    yield "final", "typing"
    yield "TYPE_CHECKING", "typing"
    yield "show_settings", "jsproto_io._client.signatures"
    for module in _MODULES:
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for each in node.names:
                    yield each.asname or each.name, node.module
    for name in context.__all__:
        yield name, context.__name__
    yield "PublishResult", "jsproto.jetstream.publish.window"
    yield "Rows", "jsproto.jetstream.range_read.rows"
    yield "IngestResult", "jsproto.jetstream.publish.fast_ingest"
    yield "ToPublish", "jsproto.jetstream.publish.items"
    for colour in (ASYNC, SYNC):
        yield f"{colour.name}Message", f"jsproto_io._{colour.name.lower()}_client.messages"


def _import(module: str, names: list[str]) -> str:
    names.sort(key=lambda name: (0 if name.isupper() else 1 if name[0].isupper() else 2, name))
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= _LONGEST:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def _arguments(parameters: list[inspect.Parameter]) -> Iterable[str]:
    """How the parameters are handed on."""
    for each in parameters:
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            yield f"**{each.name}"
        elif each.kind is inspect.Parameter.KEYWORD_ONLY:
            yield f"{each.name}={each.name}"
        else:
            yield each.name


def _indented(doc: str, by: int) -> str:
    """A docstring at another depth, closed the way it was written."""
    lines = doc.splitlines()
    text = (
        "\n".join([lines[0], *(" " * by + line if line else "" for line in lines[1:])])
        if lines
        else ""
    )
    return text + ("\n" + " " * by if len(lines) > 1 else "")


def main(arguments: list[str]) -> int:
    """Write all files, or with ``--check`` say whether they are fresh."""
    stale = 0
    for name, text in (
        *((each.file, facade(each)) for each in (ASYNC, SYNC)),
        *((name, blocking(name)) for name in MADE),
    ):
        path = _PACKAGE / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if "--check" not in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return stale if "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

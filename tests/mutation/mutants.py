"""All small changes of a module that a test should notice, one at a time.

The changes are mutmut's (numbers, strings, operators, arguments, assignments ...), on the whole file: mutmut itself leaves out
whatever is decorated, and half of a state machine is properties. Added are four that it does not have: a statement
left out, a ``return`` of nothing, a condition turned round, and a ``raise`` left out.

Not changed is what no behaviour hangs on: docstrings, annotations, decorators, imports, ``__slots__``, ``__all__``, type
variables, the type in a ``cast``, the values of enum members, and the wording of errors (that an error has a text, which one it is and what of the
values it names are changed).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

import libcst as cst
from attrs import frozen
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators

_UNTOUCHED = (
    m.Annotation()
    | m.Decorator()
    | m.Import()
    | m.ImportFrom()
    | m.AnnAssign(annotation=m.Annotation(m.Name("TypeAlias")))
    | m.AnnAssign(target=m.Name("__slots__"))
    | m.Assign(targets=[m.AssignTarget(m.Name("__slots__") | m.Name("__all__"))])
    | m.Assign(value=m.Call(func=m.Name("TypeVar")))
    | m.Call(func=m.Name("len") | m.Name("isinstance") | m.Name("issubclass"))
    | m.If(test=m.Name("TYPE_CHECKING"))
    | m.ClassDef(bases=[m.Arg(m.Name("Enum"))])
)
_CAST = m.Call(func=m.Name("cast"))


@frozen(kw_only=True)
class Mutant:
    """One change: in which class and function, which lines were there and are there now, and the whole module with it."""

    where: str
    line: int
    was: str
    now: str
    code: str

    @property
    def name(self) -> tuple[str, str, str]:
        """What it is known by, as long as these lines do not change."""
        return self.where, self.was, self.now


def _left_out(node: cst.SimpleStatementLine) -> Iterable[cst.CSTNode]:
    if m.matches(
        node, m.SimpleStatementLine(body=[m.Expr(m.Call() | m.Yield()) | m.Raise(), m.ZeroOrMore()])
    ):
        yield node.with_changes(body=[cst.Pass()])


def _returned(node: cst.Return) -> Iterable[cst.CSTNode]:
    if node.value is not None and not m.matches(node.value, m.Name("None")):
        yield node.with_changes(value=cst.Name("None"))


def _turned(node: cst.If | cst.While) -> Iterable[cst.CSTNode]:
    if m.matches(node.test, m.Name() | m.Attribute() | m.Call() | m.BooleanOperation()):
        inner = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield node.with_changes(
            test=cst.UnaryOperation(cst.Not(), inner), whitespace_before_test=cst.SimpleWhitespace(" ")
        )


_OPERATORS = (
    *mutation_operators,
    (cst.SimpleStatementLine, _left_out),
    (cst.Return, _returned),
    (cst.If, _turned),
    (cst.While, _turned),
)


class _Changes(cst.CSTVisitor):
    """Collects (node, changed node, where)."""

    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode, str]] = []
        self._where: list[str] = []
        self._raising = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
            self._where.append(node.name.value)
        if isinstance(node, cst.Raise):
            self._raising += 1
        if m.matches(node, _UNTOUCHED) or m.matches(node, m.Expr(m.SimpleString() | m.ConcatenatedString())):
            return False
        if isinstance(node, cst.Arg) and self._is_cast(node):
            return False
        if not (self._raising and isinstance(node, cst.SimpleString)):
            for kind, operator in _OPERATORS:
                if isinstance(node, kind) and not m.matches(node, _CAST):
                    where = ".".join(self._where)
                    self.found += [(node, changed, where) for changed in operator(node)]
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, (cst.ClassDef, cst.FunctionDef)):
            self._where.pop()
        if isinstance(original_node, cst.Raise):
            self._raising -= 1

    def _is_cast(self, node: cst.Arg) -> bool:
        parent = self.get_metadata(ParentNodeProvider, node)
        return isinstance(parent, cst.Call) and m.matches(parent, _CAST) and parent.args[0] is node


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its lines; each text once, and none that is no Python."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    changes = _Changes()
    wrapper.visit(changes)
    positions = wrapper.resolve(PositionProvider)
    seen = {source}
    for node, changed, where in changes.found:
        code = wrapper.module.deep_replace(node, changed).code
        if code in seen:
            continue
        seen.add(code)
        try:
            compile(code, "mutant", "exec")
        except SyntaxError:
            continue
        line = positions[node].start.line if node in positions else 0
        was, now = _lines(source, code)
        yield Mutant(where=where, line=line, was=was, now=now, code=code)


def _lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, without their indentation."""
    gone: list[str] = []
    come: list[str] = []
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line.startswith("- "):
            gone.append(line[2:].strip())
        elif line.startswith("+ "):
            come.append(line[2:].strip())
    return " ".join(gone), " ".join(come)

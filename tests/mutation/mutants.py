"""All small changes of a module that a test should notice, one at a time.

The changes are mutmut's (numbers, strings, operators, arguments, assignments ...), on the whole
file: mutmut itself leaves out whatever is decorated, and half of a state machine is properties.
Added are four that it does not have: a statement left out, a ``return`` of nothing, a condition
turned round, and a ``raise`` left out.

Not changed is what no behaviour hangs on: docstrings, annotations, decorators, imports,
``__slots__``, ``__all__``, type variables, the type in a ``cast``, the values of enum members, and
the wording of errors (that an error has a text, which one it is and what of the values it names are
changed).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import libcst as cst
from attrs import frozen
from libcst import matchers as m
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider
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
    | m.ClassDef(bases=[m.Arg(m.Name("Enum") | m.Name("IdentityEnum"))])
)
_CAST = m.Call(func=m.Name("cast"))


@frozen(kw_only=True)
class Mutant:
    """One change: in which class and function, which lines were there and are there now, and the
    whole module with it.
    """

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


def _turned(test: cst.BaseExpression) -> Iterable[cst.CSTNode]:
    if m.matches(test, m.Name() | m.Attribute() | m.Call() | m.BooleanOperation()):
        inner = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield cst.UnaryOperation(cst.Not(), inner)


_OPERATORS = (
    *mutation_operators,
    (cst.SimpleStatementLine, _left_out),
    (cst.Return, _returned),
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
        if m.matches(node, _UNTOUCHED) or m.matches(
            node, m.Expr(m.SimpleString() | m.ConcatenatedString())
        ):
            return False
        if isinstance(node, cst.Arg) and self._is_cast(node):
            return False
        if not (self._raising and isinstance(node, cst.SimpleString)):
            for kind, operator in _OPERATORS:
                if isinstance(node, kind) and not m.matches(node, _CAST):
                    where = ".".join(self._where)
                    self.found += [(node, changed, where) for changed in operator(node)]
            if isinstance(node, (cst.If, cst.While)):
                self.found += [
                    (node.test, changed, ".".join(self._where)) for changed in _turned(node.test)
                ]
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
    """All mutants of a module, in the order of its lines; each text once, and none that is no
    Python.
    """
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    changes = _Changes()
    wrapper.visit(changes)
    places = wrapper.resolve(PositionProvider)
    seen = {source}
    for node, changed, where in changes.found:
        place = places.get(node)
        code = _changed(wrapper.module, source, place, node, changed)
        if code in seen:
            continue
        seen.add(code)
        try:
            ast.parse(code)
        except SyntaxError:
            continue
        was, now = _lines(source, code)
        yield Mutant(
            where=where, line=place.start.line if place else 0, was=was, now=now, code=code
        )


def _changed(
    module: cst.Module,
    source: str,
    place: CodeRange | None,
    node: cst.CSTNode,
    changed: cst.CSTNode,
) -> str:
    """The text with one node changed. Cut and pasted where that is the same as writing the whole
    tree, and much faster.
    """
    if place is not None:
        lines = source.splitlines(keepends=True)
        begin = sum(map(len, lines[: place.start.line - 1])) + place.start.column
        end = sum(map(len, lines[: place.end.line - 1])) + place.end.column
        text = source[begin:end]
        if text and text == module.code_for_node(node).strip():
            return source[:begin] + module.code_for_node(changed).strip() + source[end:]
    return module.deep_replace(node, changed).code


def _lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, without their indentation."""
    gone, come = before.splitlines(), after.splitlines()
    while gone and come and gone[0] == come[0]:
        del gone[0], come[0]
    while gone and come and gone[-1] == come[-1]:
        del gone[-1], come[-1]
    return " ".join(map(str.strip, gone)), " ".join(map(str.strip, come))

"""The judge of DESIGN's floors: imports only go down, nothing pure touches the world, no adapter
decides.

It reads the source, it imports nothing: a floor that is broken is found even where no test runs the
line.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ADAPTERS = ("jsproto_io", "jsproto_cli", "jsproto_spark", "pyspark_jsproto")
ROOTS = {"jsproto": REPOSITORY, **dict.fromkeys(ADAPTERS, REPOSITORY / "adapters")}

# The longest prefix counts. `jsproto` alone is the package's front door, above all that it shows.
FLOORS = {
    "jsproto.errors": 5.5,
    "jsproto.errors.tree": 0,
    "jsproto.lazy": 0,
    "jsproto.signals": 0,
    "jsproto.version": 0,
    "jsproto.wire": 1,
    "jsproto.core": 2,
    "jsproto.jetstream": 3,
    "jsproto.ops": 4,
    "jsproto.trace": 4.5,
    "jsproto.driver": 5,
    "jsproto.embed": 5,
    "jsproto.testing": 5,
    "jsproto": 5.5,
    "jsproto_io": 6,
    "jsproto_cli": 7,
    "jsproto_spark": 7,
    "pyspark_jsproto": 8,
}

# Clocks, sockets, entropy, environment, processes, threads, logs: the world that only adapters may touch.
WORLD = {
    "asyncio",
    "concurrent",
    "fcntl",
    "getpass",
    "glob",
    "http",
    "io",
    "locale",
    "logging",
    "mmap",
    "multiprocessing",
    "os",
    "pathlib",
    "platform",
    "queue",
    "random",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shelve",
    "shutil",
    "signal",
    "socket",
    "socketserver",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib.request",
    "uuid",
}
# fmt: on
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint", "__import__", "globals"}
CLOCK_CALLS = {"now", "utcnow", "today"}
STATUSES = {100, 404, 408, 409, 503}


def _modules() -> list[tuple[str, Path]]:
    found = []
    for package, root in ROOTS.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


MODULES = _modules()
NAMES = {name for name, _ in MODULES}
PURE = [pair for pair in MODULES if pair[0].split(".")[0] == "jsproto"]
IO = [pair for pair in MODULES if pair[0].split(".")[0] == "jsproto_io"]


def floor(module: str) -> float | None:
    """The floor of one of our modules, ``None`` for somebody else's."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in FLOORS:
            return FLOORS[".".join(parts[:length])]
    return None


def imports(tree: ast.AST) -> list[str]:
    """Dotted names of all that is imported; ``from a import b`` counts as ``a.b`` where that is a
    module of ours.
    """
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}: write the whole name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.append(whole if whole in NAMES else str(node.module))
    return names


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def ids(pairs: list[tuple[str, Path]]) -> list[str]:
    return [name for name, _ in pairs]


@pytest.mark.parametrize(("module", "path"), MODULES, ids=ids(MODULES))
def test_imports_only_go_down(module, path):
    upwards = [name for name in imports(parse(path)) if (floor(name) or 0) > floor(module)]

    assert upwards == []


@pytest.mark.parametrize(("module", "path"), MODULES, ids=ids(MODULES))
def test_nothing_is_imported_inside_a_function(module, path):
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = [
        node.lineno
        for function in ast.walk(parse(path))
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]

    assert inside == []


@pytest.mark.parametrize(("module", "path"), IO, ids=ids(IO))
def test_an_adapter_is_thin(module, path):
    """Less than 400 lines a file, with docstrings. A generated file says so in its first line."""
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) < 400 or "by ``_client/generate.py``" in lines[0]


@pytest.mark.parametrize(("module", "path"), PURE, ids=ids(PURE))
def test_nothing_pure_imports_the_world(module, path):
    allowed = {"attrs", "jsproto"}
    seen = set(imports(parse(path)))
    worldly = {name for name in seen for world in WORLD if f"{name}.".startswith(f"{world}.")}
    third_party = {name.split(".")[0] for name in seen} - allowed - sys.stdlib_module_names

    assert worldly == set()
    assert (
        third_party - ({"hypothesis"} if module.startswith("jsproto.testing") else set()) == set()
    )


@pytest.mark.parametrize(("module", "path"), PURE, ids=ids(PURE))
def test_nothing_pure_calls_the_world(module, path):
    worldly = []
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in WORLDLY_CALLS:
            worldly.append(f"{node.func.id} in line {node.lineno}")
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in CLOCK_CALLS
            and _is_date(node.func.value)
        ):
            worldly.append(f"{node.func.attr} in line {node.lineno}")

    assert worldly == []


@pytest.mark.parametrize(("module", "path"), PURE, ids=ids(PURE))
def test_inside_core_only_the_connection_knows_the_rest(module, path):
    if module.startswith("jsproto.core.") and module != "jsproto.core.connection.connection":
        assert "jsproto.core.connection.connection" not in imports(parse(path))


@pytest.mark.parametrize(("module", "path"), IO, ids=ids(IO))
def test_no_adapter_decides_about_the_protocol(module, path):
    tree = parse(path)
    statuses = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in STATUSES
    ]

    assert "json" not in {name.split(".")[0] for name in imports(tree)}
    assert statuses == []


@pytest.mark.parametrize(("module", "path"), MODULES, ids=ids(MODULES))
def test_every_file_opens_with_its_theory(module, path):
    tree = parse(path)

    assert tree.body == [] or ast.get_docstring(tree)


def test_the_judge_sees_a_broken_floor():
    tree = ast.parse(
        "import socket\nfrom jsproto.core import connection\nfrom jsproto_io import asyncio\n"
    )

    assert imports(tree)[0] == "socket"
    assert (
        floor("jsproto_io.asyncio")
        > floor("jsproto.core.connection.connection")
        > floor("jsproto.wire.parser")
    )


def _is_date(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in {"datetime", "date"}) or (
        isinstance(node, ast.Attribute) and node.attr in {"datetime", "date"}
    )

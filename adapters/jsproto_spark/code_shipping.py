"""Ships the code of jsproto to Spark processes that do not have it installed.

Theory. A pickle contains only the names of classes in importable modules. So a process that reads
it must have these modules installed. Pickling the packages by value (``register_pickle_by_value``)
does not work: it would copy the state of the process, such as connections, context variables and
the scanner of its JSON decoder. Some of these cannot be pickled. If they could, each pickle would
bring a second copy, and no task would find the connection of the previous one. So only this module
is pickled by value. It needs only the standard library and Spark, and it carries the packages as
source text. A pickle is read in order: objects after the code can import it.

A process that received code passes it on: pickles of its readers and writers begin with the code.
Packages that are installed in the process have priority.

Without shipped code, readers and writers begin with a function that looks up their class; it is
pickled by value too. A process without jsproto then raises an error with a remedy. A class pickled
by reference would only name the missing module.
"""

from __future__ import annotations

import bz2
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any, Final, SupportsIndex, TypeVar, final

from pyspark import cloudpickle

T = TypeVar("T")

#: The packages that a task imports: ours, and attrs. pyarrow and numpy are compiled, so they have
#: no source text; Spark's own workers need them anyway.
PACKAGES: Final = ("jsproto", "jsproto_io", "jsproto_spark", "attr", "attrs")
#: Folders and modules of other adapters that no task imports.
_LEFT: Final = frozenset(
    {
        "__pycache__",
        "_testing",
        "corpus",
        "testing",
        "_async_client",
        "_memory",
        "generate.py",
        "uncolour.py",
        "websocket_server.py",
        "anyio.py",
        "async_account.py",
        "async_backup.py",
        "asyncio.py",
        "kit.py",
        "memory.py",
        "pytest_plugin.py",
        "testing.py",
        "trio.py",
    }
)
_HERE: Final = "jsproto_spark.code_shipping"


class PickledCode(MetaPathFinder, ExecutionLoader):
    """Finds and loads modules from source text in memory."""

    def __init__(self, packed: bytes) -> None:
        self.texts: dict[str, str] = json.loads(bz2.decompress(packed))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, ``None`` if it is not here."""
        return spec_from_loader(fullname, self) if self._within(fullname) in self.texts else None

    def get_filename(self, fullname: str) -> str:
        """The path of a module, for tracebacks."""
        return self._within(fullname)

    def get_source(self, fullname: str) -> str:
        """The source text of a module."""
        return self.texts[self._within(fullname)]

    def is_package(self, fullname: str) -> bool:
        """Whether a module is a package."""
        return self._within(fullname).endswith("/__init__.py")

    def _within(self, fullname: str) -> str:
        stem = fullname.replace(".", "/")
        package = f"{stem}/__init__.py"
        return package if package in self.texts else f"{stem}.py"


@final
class Code:
    """Packages as source text; unpickling it makes them importable.

    Attributes:
        packed: the source text of each module by its path, as JSON, compressed.
    """

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    def make(self, kind: type[T]) -> T:
        """Make an object of a class from this code; pickle then sets its state."""
        return kind.__new__(kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return opened, (self.packed,)


#: The code that this process received, ``None`` if it received none.
given: Code | None = None


def opened(packed: bytes) -> Code:
    """Make the packages importable in this process, and return the code."""
    home: Any = sys.modules.get(_HERE)
    if home is None:
        sys.meta_path.append(PickledCode(packed))
        home = import_module(_HERE)
    if home.given is None:
        home.given = home.Code(packed)
    code: Code = home.given
    return code


class CodeShipping:
    """Base class of objects that are pickled for other processes.

    The pickle begins with the code if this process received it, else with `made`.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        kind = type(self)
        if given is not None:
            return given.make, (kind,), self.__dict__
        if "." in kind.__qualname__:  # a nested class: no module has it by name
            return super().__reduce_ex__(protocol)
        return made, (kind.__module__, kind.__qualname__), self.__dict__


def made(module: str, name: str) -> Any:
    """Make an object of a class; pickle then sets its state.

    Raises:
        ModuleNotFoundError: this process has no jsproto; the text names the remedies.
    """
    try:
        kind: Any = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"expected jsproto for {sys.executable} on an executor, "
            f"got no module {error.name!r}. Install it there and set "
            "PYSPARK_PYTHON to that Python, or use the format that pyspark_jsproto.carry(spark) "
            "makes. Spark starts a separate process for a data source that "
            "it finds by name, and files of --py-files and addPyFile do not reach that process. "
            "If PYSPARK_DRIVER_PYTHON is set, executors start that Python too",
            name=error.name,
        ) from None
    return kind.__new__(kind)


def packed(packages: Iterable[str] = PACKAGES) -> Code:
    """The source text of packages that this process can import."""
    texts = {path: text for package in packages for path, text in _texts(files(package), package)}
    return Code(bz2.compress(json.dumps(texts).encode()))


def _texts(place: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for each in sorted(place.iterdir(), key=lambda each: each.name):
        within = f"{path}/{each.name}"
        if each.name in _LEFT:
            continue
        if each.is_dir():
            yield from _texts(each, within)
        elif each.name.endswith(".py"):
            yield within, each.read_text(encoding="utf-8")


cloudpickle.register_pickle_by_value(sys.modules[_HERE])  # type: ignore[no-untyped-call]

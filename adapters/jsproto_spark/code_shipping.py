"""Code that travels with a source: processes of Spark that have no jsproto are given it.

Theory. A pickle only names the classes of a module that can be imported, so whoever reads it must
have them installed. To pickle the packages by value (``register_pickle_by_value``) is to copy what
is there once in a process: its connections, its context variables, the scanner of its JSON decoder.
Those can't be pickled; and if they could, each pickle would bring a second of everything, and no
task would find the connection of the last. So this module alone goes by value, which needs nothing
but the standard library and Spark, and takes the packages with it as text. Pickles are read in
their order: what is behind the code in one can be imported when it is come to.

A process that was given code gives it on: readers and writers that it pickles begin with it. What a
process has installed comes first.

Where no code travels, readers and writers begin with a function that looks for their class, by
value too: a process that has no jsproto then says what can be done, where a class by reference says
no more than which module is missing.
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

#: What a task imports: our packages, and the one that they need. pyarrow and numpy are compiled and
#: so no text; Spark's own workers need them.
PACKAGES: Final = ("jsproto", "jsproto_io", "jsproto_spark", "attr", "attrs")
#: What no task imports: folders, and modules of other adapters.
_LEFT: Final = frozenset({
    "__pycache__", "_testing", "corpus", "testing",
    "_async_client", "_memory", "generate.py", "uncolour.py", "websocket_server.py",
    "anyio.py", "async_account.py", "async_backup.py", "asyncio.py", "kit.py", "memory.py", "pytest_plugin.py", "testing.py", "trio.py",
})  # fmt: skip
_HERE: Final = "jsproto_spark.code_shipping"


class PickledCode(MetaPathFinder, ExecutionLoader):
    """What finds and loads modules whose text lies in memory."""

    def __init__(self, packed: bytes) -> None:
        self.texts: dict[str, str] = json.loads(bz2.decompress(packed))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How a module is loaded, ``None`` if it is not here."""
        return spec_from_loader(fullname, self) if self._within(fullname) in self.texts else None

    def get_filename(self, fullname: str) -> str:
        """The path of a module, as tracebacks show it."""
        return self._within(fullname)

    def get_source(self, fullname: str) -> str:
        """The text of a module."""
        return self.texts[self._within(fullname)]

    def is_package(self, fullname: str) -> bool:
        """Whether a module has others within."""
        return self._within(fullname).endswith("/__init__.py")

    def _within(self, fullname: str) -> str:
        stem = fullname.replace(".", "/")
        package = f"{stem}/__init__.py"
        return package if package in self.texts else f"{stem}.py"


@final
class Code:
    """Packages as text; where this is unpickled, they can be imported.

    Attributes:
        packed: the text of each module under its path, as JSON, compressed.
    """

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    def make(self, kind: type[T]) -> T:
        """An object of a class that is found once the code is there; its state is set by whoever
        unpickles it.
        """
        return kind.__new__(kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return opened, (self.packed,)


#: The code that this process was given.
given: Code | None = None


def opened(packed: bytes) -> Code:
    """The code, in a process that finds its packages from now on."""
    home: Any = sys.modules.get(_HERE)
    if home is None:
        sys.meta_path.append(PickledCode(packed))
        home = import_module(_HERE)
    if home.given is None:
        home.given = home.Code(packed)
    code: Code = home.given
    return code


class CodeShipping:
    """Part of what is pickled for other processes: the code comes first, if this process was given
    it, or what says that there is none.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        kind = type(self)
        if given is not None:
            return given.make, (kind,), self.__dict__
        if "." in kind.__qualname__:  # it is found in no module
            return super().__reduce_ex__(protocol)
        return made, (kind.__module__, kind.__qualname__), self.__dict__


def made(module: str, name: str) -> Any:
    """An object of a class; its state is set by whoever unpickles it.

    Raises:
        ModuleNotFoundError: this process has no jsproto; the text says what can be done.
    """
    try:
        kind: Any = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"expected jsproto for {sys.executable}, which runs on an executor, got no module {error.name!r}. Install it there and set "
            "PYSPARK_PYTHON to that Python, or read and write with the format that pyspark_jsproto.carry(spark) makes. Files of --py-files and "
            "addPyFile do not reach the processes of a format that Spark has found by its name; PYSPARK_DRIVER_PYTHON, if it is set, is "
            "started on executors too",
            name=error.name,
        ) from None
    return kind.__new__(kind)


def packed(packages: Iterable[str] = PACKAGES) -> Code:
    """The text of packages that this process can import."""
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

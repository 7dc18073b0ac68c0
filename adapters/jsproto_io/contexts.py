"""Contexts of the ``nats`` CLI: ``connect(**context().options())`` goes where ``nats`` would go
(ADR-21).

    with connect(**context().options()) as nc:          # as NATS_CONTEXT, NATS_URL ... say, or the
    selected one with connect(**context("orders").options()) as nc:  # a named one

Theory. A context is a file, and one of them is selected. `Contexts` is the folder with all of them,
and reads and writes them as the CLI does: ``$XDG_CONFIG_HOME/nats`` or ``~/.config/nats``, with
``context/NAME.json`` and ``context.txt``. Files are replaced in one step, are for nobody else to
read, and no name leads out of the folder. `context` puts the environment over it (`VARIABLES`), in
the way of the CLI.

A `Context` is what came of it. What it refers to is looked up by `Context.options`, each time that
it is asked, and creds files are read at each handshake. It is the same for all adapters, and
`nc.jetstream()` is then in the domain, or behind the prefix, of the context.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self, Unpack, final

from attrs import evolve, field, frozen

from jsproto.errors import ContextUnavailable, InvalidContext
from jsproto.errors.tree import shorten
from jsproto.ops.nats_context import MAX_CONTEXT, NatsContext
from jsproto.wire.secret import HiddenMapping, RedactedSecret
from jsproto_io._client.options import ConnectOptions
from jsproto_io._context.options import ContextOptions, arguments_of

__all__ = ["VARIABLES", "Context", "ContextOptions", "Contexts", "NatsContext", "context"]

#: Variables of the environment that stand above a context, and its members. ``NATS_USER`` alone is
#: a token.
VARIABLES: Final[Mapping[str, str]] = {
    "NATS_URL": "url",
    "NATS_USER": "user",
    "NATS_PASSWORD": "password",
    "NATS_TOKEN": "token",
    "NATS_CREDS": "creds",
    "NATS_NKEY": "nkey",
    "NATS_CERT": "cert",
    "NATS_KEY": "key",
    "NATS_CA": "ca",
    "NATS_SOCKS_PROXY": "socks_proxy",
}
_SUFFIX: Final = ".json"
_MAX_NAME: Final = 255 - len(_SUFFIX)


def context(
    name: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    contexts: Contexts | None = None,
) -> Context:
    """How the ``nats`` CLI would connect here: a context, and what the environment says above it.

    Args:
        name: of the context, or the path of a file ``....json``; else ``NATS_CONTEXT``, else the
            selected one, and if none is selected an empty one.
        environ: ``os.environ`` if it is not given.
        contexts: the folder; that of ``environ`` if it is not given.

    Raises:
        ContextUnavailable: there is none of this name.
        InvalidContext: it is damaged.
    """
    told = os.environ if environ is None else environ
    folder = contexts or Contexts.of(told)
    wanted = name or told.get("NATS_CONTEXT") or folder.selection
    if wanted is None:
        found = Context(settings=NatsContext())
    elif wanted.endswith(_SUFFIX) and Path(wanted).is_file():
        found = Context.read(wanted)
    else:
        found = folder.load(wanted)
    return evolve(found, settings=_under(found.settings, told), environ=dict(told))


def _under(settings: NatsContext, environ: Mapping[str, str]) -> NatsContext:
    told = {member: environ[name] for name, member in VARIABLES.items() if environ.get(name)}
    if "user" in told and "password" not in told:
        told["token"] = told.pop("user")
    if told.get("socks_proxy", "").lower() in {"none", "-"}:
        told["socks_proxy"] = ""
    return settings.edited(**told)


def _hidden(environ: Mapping[str, str] | None) -> Mapping[str, str] | None:
    return None if environ is None else HiddenMapping(environ)


@final
@frozen(kw_only=True)
class Context(RedactedSecret):
    """One context, ready to connect with.

    Attributes:
        name: empty if it has none.
        settings: what it says.
        environ: where ``env://NAME``, ``~`` and ``$NAME`` are looked up; ``os.environ`` if it is
            ``None``.
    """

    settings: NatsContext
    name: str = ""
    environ: Mapping[str, str] | None = field(default=None, converter=_hidden, repr=False, eq=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A context in a file anywhere; it is called as the file is.

        Raises:
            ContextUnavailable: it cannot be read.
            InvalidContext: it is damaged.
        """
        return cls(name=Path(path).stem, settings=_settings(Path(path)))

    def options(self, **others: Unpack[ConnectOptions]) -> ContextOptions:
        """What it says, as the arguments of `connect`. It looks up what is referred to, and waits
        for ``nsc`` if need be.

        Args:
            others: more options of the connection; they stand above those of the context.

        Raises:
            InvalidContext: something that it says cannot be, or cannot be done from here.
            ContextUnavailable: what it refers to is not there.
            InvalidCredentials: what it refers to is damaged.
            CredentialsUnavailable: PyNaCl (extra ``nkeys``), which its credentials need, is not
                installed.
            InvalidConfig: a URL that is none; a domain beside a prefix.
            InvalidSubject: a domain or a prefix that no subject can carry.
        """
        environ = os.environ if self.environ is None else self.environ
        return {**arguments_of(self.settings, environ), **others}


# ---------------------------------------------------------------------------------------------- the folder


def _checked(name: str) -> str:
    """A name that is one file of the folder, and survives ``context.txt``.

    Raises:
        InvalidContext: it is none.
    """
    fits = isinstance(name, str) and name.isprintable() and name == name.strip() and name != ""
    if (
        not fits
        or ".." in name
        or not {"/", "\\"}.isdisjoint(name)
        or len(name.encode()) > _MAX_NAME
    ):
        raise InvalidContext(
            f"expected a name of 1 to {_MAX_NAME} bytes without .. / \\ or control characters, got {shorten(name)}"
        )
    return name


@final
@frozen
class Contexts:
    """The contexts of one folder.

    Attributes:
        folder: where ``context.txt`` and the folder ``context`` are; that of the ``nats`` CLI if it
            is not given.
    """

    folder: Path = field(factory=lambda: _home(os.environ), converter=Path)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """The folder that an environment means.

        Raises:
            ContextUnavailable: nobody knows whose home that is.
        """
        return cls(_home(environ))

    def path(self, name: str) -> Path:
        """Where a context is, or would be.

        Raises:
            InvalidContext: a name that none can have.
        """
        return self.folder / "context" / f"{_checked(name)}{_SUFFIX}"

    @property
    def names(self) -> list[str]:
        """All that there are, sorted."""
        try:
            found = list((self.folder / "context").iterdir())
        except OSError:
            return []
        return sorted(each.stem for each in found if each.suffix == _SUFFIX and _is_context(each))

    @property
    def selection(self) -> str | None:
        """The name of the selected one, whether there is such a context or not."""
        try:
            said = (self.folder / "context.txt").read_text(encoding="utf-8-sig").strip()
        except (OSError, ValueError):
            return None
        return said or None

    def load(self, name: str) -> Context:
        """A context.

        Raises:
            ContextUnavailable: there is none of this name, or it cannot be read.
            InvalidContext: it is damaged, or its name is.
        """
        return Context(name=_checked(name), settings=_settings(self.path(name)))

    def selected(self) -> Context:
        """The selected one.

        Raises:
            ContextUnavailable: none is selected, or what is selected is not there.
            InvalidContext: it is damaged.
        """
        name = self.selection
        if name is None:
            raise ContextUnavailable(f"expected a selected context in {self.folder}, none is")
        return self.load(name)

    def save(self, name: str, settings: NatsContext, *, select: bool = False) -> Context:
        """Write a context, new or in the place of another one.

        Raises:
            InvalidContext, InvalidConfig, InvalidSubject: it cannot work, see `NatsContext.check`,
                or a name that none can have.
            ContextUnavailable: it cannot be written.
        """
        path = self.path(name)
        settings.check()
        _replace(path, settings.to_json().encode())
        if select:
            self.select(name)
        return Context(name=name, settings=settings)

    def edit(self, name: str, **changes: object) -> Context:
        """Change members of a context; an empty text, or ``None``, takes one away. What it says
        else is kept.

        Raises:
            InvalidContext: a member that is not known, or of another type; and as for `save`.
            ContextUnavailable: there is none of this name, or it cannot be written.
        """
        return self.save(name, self.load(name).settings.edited(**changes))

    def select(self, name: str) -> None:
        """Make a context the one that is taken if none is named.

        Raises:
            ContextUnavailable: there is none of this name, or it cannot be written.
        """
        self.load(name)
        before = self.selection
        if before is not None:
            _replace(self.folder / "previous-context.txt", before.encode())
        _replace(self.folder / "context.txt", name.encode())

    def unselect(self) -> None:
        """Have none selected."""
        _remove(self.folder / "context.txt", missing_ok=True)

    def delete(self, name: str) -> None:
        """Remove a context. The selected one goes only if it is the only one (as in the CLI), and
        is selected no more.

        Raises:
            ContextUnavailable: there is none of this name, or it cannot be removed.
            InvalidContext: it is the selected one, and there are others.
        """
        path = self.path(name)
        selected = self.selection == name
        if selected and len(self.names) > 1:
            raise InvalidContext(
                f"expected another context than the selected one, {name!r} is: select another first"
            )
        _remove(path)
        if selected:
            self.unselect()


def _home(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME")
    if base:
        return Path(base) / "nats"
    home = environ.get("HOME")
    try:
        return (Path(home) if home else Path.home()) / ".config" / "nats"
    except RuntimeError as error:
        raise ContextUnavailable(
            "expected a home directory with contexts in it, there is none"
        ) from error


def _is_context(path: Path) -> bool:
    try:
        _checked(path.stem)
        return path.is_file() and path.stat().st_size > 0
    except (InvalidContext, OSError):
        return False


def _settings(path: Path) -> NatsContext:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONTEXT + 1)
    except FileNotFoundError as error:
        raise ContextUnavailable(f"expected a context in the file {path}, there is none") from error
    except (OSError, ValueError) as error:
        raise ContextUnavailable(
            f"expected a context in the file {path}, it cannot be read: {type(error).__name__}"
        ) from error
    try:
        return NatsContext.parse(data)
    except InvalidContext as error:
        raise InvalidContext(f"{error} (in the file {path})") from None


def _replace(path: Path, data: bytes) -> None:
    """Whoever reads it sees what was there or all that is new, and nobody else may read it."""
    try:
        for folder in (
            path.parent.parent,
            path.parent,
        ):  # what mkdir makes on its way has not the mode
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(
            prefix=f".{path.name}.", dir=path.parent
        )  # made for its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(scratch).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(scratch).unlink()
            raise
    except OSError as error:
        raise ContextUnavailable(
            f"expected to write {path}, it failed: {type(error).__name__}"
        ) from error


def _remove(path: Path, *, missing_ok: bool = False) -> None:
    try:
        path.unlink(missing_ok=missing_ok)
    except OSError as error:
        raise ContextUnavailable(
            f"expected to remove {path}, it failed: {type(error).__name__}"
        ) from error

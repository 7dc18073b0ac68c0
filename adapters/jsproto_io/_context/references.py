"""What the members of a nats context refer to: files, variables of the environment, text in place,
and users of ``nsc``.

Theory. Where a secret is expected there may be one of five references instead (`SCHEMES`);
everything else is the secret itself, or for creds and nkeys a path, in which ``~`` and ``$NAME``
are filled in. What is read is in no error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from base64 import b64decode
from binascii import Error as NotBase64
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from jsproto.errors import ContextUnavailable, InvalidContext
from jsproto.errors.tree import shorten
from jsproto.ops.nats_context import MAX_CONTEXT, NscProfile

#: What a reference begins with.
FILE: Final = "file://"
NSC: Final = "nsc://"
ENV: Final = "env://"
OP: Final = "op://"
DATA: Final = "data:"
SCHEMES: Final = (FILE, NSC, ENV, OP, DATA)
#: ``nsc`` reads a few files; more than this, in seconds, and it waits for somebody at a terminal.
_PATIENCE: Final = 30.0
_SHOWN: Final = 200


def scheme_of(text: str) -> str:
    """Which reference a text is; empty if none."""
    return next((each for each in SCHEMES if text[: len(each)].lower() == each), "")


def path_of(text: str, what: str, environ: Mapping[str, str]) -> Path:
    """The file that a text names.

    Raises:
        InvalidContext: it is a reference to something else, or a text that no path can be.
    """
    scheme = scheme_of(text)
    if scheme not in {"", FILE} or (not scheme and "://" in text) or "\0" in text:
        raise InvalidContext(f"expected a path as {what} of a context, got something else")
    filled = _filled(text[len(scheme) :], environ)
    home = environ.get("HOME")
    if home and (filled == "~" or filled.startswith("~/")):
        return Path(home + filled[1:])
    try:
        return Path(filled).expanduser()
    except RuntimeError:  # whose home that is, nobody knows
        return Path(filled)


def _filled(text: str, environ: Mapping[str, str]) -> str:
    """``$NAME`` and ``${NAME}`` from the environment; what is not there is left as it stands."""
    before, mark, rest = text.partition("$")
    if not mark:
        return before
    if rest.startswith("{") and "}" in rest:
        name, _, behind = rest[1:].partition("}")
        whole = f"${{{name}}}"
    else:
        length = next(
            (at for at, char in enumerate(rest) if not (char.isalnum() or char == "_")), len(rest)
        )
        name, behind = rest[:length], rest[length:]
        whole = f"${name}"
    return before + environ.get(name, whole) + _filled(behind, environ)


def text_of(text: str, what: str, environ: Mapping[str, str]) -> bytes:
    """What a reference refers to; a text that is none is meant as it stands.

    Raises:
        ContextUnavailable: it is not there, or cannot be read here.
        InvalidContext: it is damaged.
    """
    scheme = scheme_of(text)
    return _RESOLVERS[scheme](text[len(scheme) :], what, environ)


def _itself(text: str, _what: str, _environ: Mapping[str, str]) -> bytes:
    return text.encode()


def _of_file(text: str, what: str, environ: Mapping[str, str]) -> bytes:
    path = path_of(text, what, environ)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONTEXT + 1)
    except (OSError, ValueError) as error:
        failure = type(error).__name__
    else:
        if len(data) <= MAX_CONTEXT:
            return data.removeprefix(BOM_UTF8).strip()
        raise InvalidContext(
            f"expected a {what} of at most {MAX_CONTEXT} bytes in the file it names, got more"
        )
    # Neither text nor cause of the error holds the path: it may be a secret that was pasted behind
    # file://.
    raise ContextUnavailable(
        f"expected the {what} of a context in the file that it names, it cannot be read: {failure}"
    )


def _of_environment(text: str, what: str, environ: Mapping[str, str]) -> bytes:
    value = environ.get(text)
    if not value:
        raise ContextUnavailable(
            f"expected the {what} of a context in the environment as {text!r}, it is not set"
        )
    return value.strip().encode(errors="surrogateescape")


def _in_place(text: str, what: str, _environ: Mapping[str, str]) -> bytes:
    """RFC 2397, with base64."""
    kind, comma, payload = text.partition(",")
    if comma and "base64" in kind.replace(" ", "").split(";"):
        try:
            return b64decode(payload, validate=True).removeprefix(BOM_UTF8).strip()
        except (NotBase64, ValueError):
            pass
    raise InvalidContext(f"expected data:;base64,... as {what} of a context, got other data")


def _of_nsc(text: str, what: str, environ: Mapping[str, str]) -> bytes:
    creds = profile_of(text, environ).path
    if creds is None:
        raise ContextUnavailable(
            f"expected that nsc knows creds for the {what} of a context, it names none"
        )
    return _of_file(creds, what, environ)


def _of_1password(_text: str, what: str, _environ: Mapping[str, str]) -> bytes:
    raise ContextUnavailable(
        f"expected no op:// as {what} of a context: 1Password is not asked from here"
    )


_RESOLVERS: Final[Mapping[str, Callable[[str, str, Mapping[str, str]], bytes]]] = {
    "": _itself,
    FILE: _of_file,
    ENV: _of_environment,
    DATA: _in_place,
    NSC: _of_nsc,
    OP: _of_1password,
}


def profile_of(user: str, environ: Mapping[str, str]) -> NscProfile:
    """What ``nsc generate profile`` says of ``operator/account/user``, where nsc is installed. It
    blocks while nsc runs.

    Raises:
        ContextUnavailable: nsc is not installed, does not know the user, or does not end.
        InvalidContext: its answer is none, or what it is asked for is no user.
    """
    user = user.removeprefix(NSC)
    if not user or user.startswith("-") or "\0" in user:
        raise InvalidContext(
            "expected nsc://operator/account/user in a context, got something else"
        )
    program = shutil.which("nsc", path=environ.get("PATH", os.defpath))
    if program is None:
        raise ContextUnavailable(
            f"expected nsc, which a context asks for {user!r}, it is not installed"
        )
    try:
        done = subprocess.run(  # noqa: S603 - the program is nsc, no shell is involved
            [program, "generate", "profile", f"{NSC}{user}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
            env=dict(environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = type(error).__name__
    else:
        if done.returncode == 0:
            return NscProfile.parse(done.stdout)
        failure = shorten(
            done.stderr.decode(errors="replace").strip(), _SHOWN
        )  # stdout may hold keys
    raise ContextUnavailable(f"expected that nsc knows {user!r}, it failed: {failure}")

"""TLS as a filter between bytes and bytes, the same for every adapter.

Theory. `Filter` is a layer (see `jsproto_io._layers.stack`) over `ssl.MemoryBIO`: nothing here
waits, and there is no socket in it.

Certificates are verified and must show the name of the server. Whoever wants less makes an
`ssl.SSLContext` of his own.
"""

from __future__ import annotations

import contextlib
import ssl
from pathlib import Path
from typing import Final, final

from attrs import field, frozen

from jsproto.core.connection.server_pool import Server
from jsproto.errors import InvalidConfig, LocalProtocolError, TlsFailed
from jsproto.wire.secret import RedactedSecret, file_name, secret_text

#: Bytes decrypted at once: those of the largest record (RFC 8446, 5.1). A read gives no more, and
#: first makes room for all that it may give.
_CHUNK: Final = 16_384


@final
@frozen(kw_only=True)
class TlsFiles(RedactedSecret):
    """Certificates in files of PEM. They are read again at each handshake, so they can be renewed
    in place.

    Attributes:
        ca: whom to trust; the system's own if not given.
        certificate: our own certificate, with its chain, for a server that verifies its clients.
        key: its private key, if that is another file; ``password`` opens it.

    Raises:
        InvalidConfig: what stands in a file was given in place of its name.
    """

    ca: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None
    password: str | None = field(default=None, converter=secret_text, repr=False)

    def __attrs_post_init__(self) -> None:
        for each in (self.ca, self.certificate, self.key):
            file_name(str(each))

    def context(self) -> ssl.SSLContext:
        """What they amount to.

        Raises:
            InvalidConfig: a file that cannot be read or used.
        """
        if self.certificate is None and self.key is not None:
            raise InvalidConfig("expected a certificate for the key, got none")
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key, self.password or "")
        except (OSError, ValueError) as error:
            files = [
                str(each) for each in (self.ca, self.certificate, self.key) if each is not None
            ]
            raise InvalidConfig(
                f"expected files with certificates and keys, {files} are not: {type(error).__name__}"
            ) from None
        return context


@final
class Filter:
    """TLS of one stream, from the first word of its handshake.

    Attributes:
        stands: the handshake is over and the server is who it should be.
        ended: the server has said that nothing follows.
        close_reason: what was wrong with the end of TLS, if anything.
    """

    __slots__ = ("_in", "_object", "_out", "_server", "close_reason", "ended", "stands")

    def __init__(self, context: ssl.SSLContext, server: Server) -> None:
        self._server = server
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._in, self._out, server_hostname=server.name)
        self.stands = False
        self.ended = False
        self.close_reason: Exception | None = None

    def received(self, data: bytes) -> bytes:
        """What the bytes of the stream say, perhaps nothing yet.

        Raises:
            TlsFailed: the handshake fails, or the stream is damaged. What is `outgoing` tells the
                server.
        """
        self._in.write(data)
        said: list[bytes] = []
        try:
            if not self.stands:
                self._object.do_handshake()
                self.stands = True
            while part := self._object.read(_CHUNK):
                said.append(part)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLCertVerificationError as error:
            raise TlsFailed(
                f"expected a certificate that proves {self._server}, its is refused: {error.verify_message}"
            ) from None
        except (ssl.SSLError, ssl.CertificateError) as error:
            raise TlsFailed(
                f"expected TLS with {self._server}, got {error.reason or error}"
            ) from None
        return b"".join(said)

    def sent(self, data: bytes) -> bytes:
        """What must be written so that this is said.

        Raises:
            LocalProtocolError: TLS does not stand yet, so nothing may be said.
        """
        if not self.stands:
            raise LocalProtocolError("expected that TLS stands before anything is said")
        rest = memoryview(data)
        while rest:
            rest = rest[self._object.write(rest) :]
        return self._out.read()

    def begin(self) -> None:
        """The first word of the handshake is then `outgoing`."""
        self.received(b"")

    def outgoing(self) -> bytes:
        """What TLS itself has to write."""
        return self._out.read()

    def close_frame(self) -> bytes:
        """What must be written when nothing follows from us."""
        if self.stands:
            with contextlib.suppress(ssl.SSLError):  # the server's goodbye is not waited for
                self._object.unwrap()
        return self._out.read()

    def cut(self) -> Exception | None:
        """What it means that the stream ends here: TLS must not end without a word."""
        if self.ended:
            return None
        if self.stands:
            return ConnectionResetError("TLS was cut off without close_notify")
        return TlsFailed(f"expected TLS with {self._server}, the stream ended in mid-handshake")

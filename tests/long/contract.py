"""The contract of adapters against real servers: every adapter, every version, every transport.

    python tests/long/contract.py                                                       all of it,
    some five minutes python tests/long/contract.py --versions 2.9.10 --transports tcp tls
    --adapters trio    a part

Versions before 2.10.4 have no TLS before the first word. Gives one JSON line for each adapter and
server; the exit code is 1 if a clause was broken.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

import pytest  # noqa: E402

from jsproto_io.testing import PromiseBroken, check_driver  # noqa: E402
from tests.adapters.table import ADAPTERS  # noqa: E402 - as those above
from tests.conftest import _binary_of  # noqa: E402
from tests.served import TRANSPORTS, Served, served  # noqa: E402

VERSIONS = ("2.9.10", "2.14.0", "2.15.1")
#: They know no TLS before the first word.
OLD = ("2.9.10",)


def checked(adapter: str, there: Served) -> str | None:
    """What is broken."""
    module, backend = ADAPTERS[adapter]
    connect = importlib.import_module(f"jsproto_io.{module}").connect
    try:
        check_driver(connect, backend=backend, server=there.url, options=there.options)
    except PromiseBroken as error:
        return str(error)
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--versions", nargs="+", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--transports", nargs="+", default=TRANSPORTS, choices=TRANSPORTS)
    parser.add_argument("--adapters", nargs="+", default=tuple(ADAPTERS), choices=tuple(ADAPTERS))
    chosen = parser.parse_args(arguments)
    broken = 0
    for version in chosen.versions:
        try:
            binary = _binary_of(version)
        except pytest.skip.Exception as why:
            print(json.dumps({"server": version, "left out": str(why)}), flush=True)
            continue
        for transport in chosen.transports:
            if transport == "tls-first" and version in OLD:
                continue
            with (
                tempfile.TemporaryDirectory() as folder,
                served(binary, transport, Path(folder)) as there,
            ):
                for adapter in chosen.adapters:
                    begun = time.monotonic()
                    seen = {"server": there.version, "transport": transport, "adapter": adapter}
                    seen["broken"] = checked(adapter, there)
                    broken += seen["broken"] is not None
                    print(
                        json.dumps(seen | {"seconds": round(time.monotonic() - begun, 1)}),
                        flush=True,
                    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

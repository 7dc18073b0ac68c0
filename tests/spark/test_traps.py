"""Every trap is set for ours and for a naive version, somewhere among these tests."""

import re
from pathlib import Path

import pytest

from tests.spark.traps import TRAPS, trap

TESTS = Path(__file__).parent.glob("test_*.py")


def test_every_trap_has_a_test_that_a_naive_version_fails():
    text = "\n".join(path.read_text(encoding="utf-8") for path in TESTS)

    assert TRAPS.keys() == set(re.findall(r'^@trap\(\s*"([\d.]+)"', text, re.MULTILINE))


@pytest.mark.parametrize(
    ("section", "naive"), [("4.1", {}), ("4.1", {"naive": (int, 5)}), ("4.12", {"naive": (int, 6)})]
)
def test_a_naive_version_that_sees_what_ours_sees_is_none(section, naive):
    with pytest.raises(ValueError, match="naive versions that close it"):
        trap(section, ours=(str, 5), **naive)

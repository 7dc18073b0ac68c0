import pytest

from jsproto.errors import InvalidConfig
from jsproto.testing.simserver.values.profile import PROFILES, profile_of


def test_the_last_number_of_a_version_is_kept_and_does_not_matter():
    profile = profile_of("2.14.7")

    assert profile.version == "2.14.7"
    assert profile.number == (2, 14)
    assert profile_of("2.9") is PROFILES["2.9"]


def test_a_version_that_is_not_modelled_is_refused():
    with pytest.raises(
        InvalidConfig, match=r"expected a server version among 2\.9.*got '2\.13\.0'"
    ):
        profile_of("2.13.0")


def test_rows_are_named_for_their_version():
    assert [".".join(map(str, profile.number)) for profile in PROFILES.values()] == list(PROFILES)

import math

import pytest

from jsproto.errors import LocalProtocolError
from jsproto.testing import Clock


def test_a_clock_stands_still_until_told():
    clock = Clock(5.0)

    assert clock.now == 5.0
    assert clock.advance(1.5) == 6.5
    assert clock.now == 6.5


def test_a_clock_does_not_advance_backwards():
    with pytest.raises(LocalProtocolError, match="-1"):
        Clock().advance(-1)


def test_a_jump_may_go_back():
    assert Clock(10.0).jump(-3.0) == 7.0


def test_until_moves_forward_only():
    clock = Clock(10.0)

    assert clock.until(12.0) == 12.0
    assert clock.until(3.0) == 12.0


@pytest.mark.parametrize("moment", [math.inf, math.nan])
def test_time_is_finite(moment):
    with pytest.raises(LocalProtocolError, match="finite"):
        Clock(moment)


def test_a_clock_shows_its_time():
    assert repr(Clock(1.0)) == "Clock(now=1.0)"

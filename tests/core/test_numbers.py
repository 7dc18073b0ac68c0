"""Counts of a subscription are checked as those of a connection are."""

from __future__ import annotations

import pytest

from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import InvalidConfig


@pytest.mark.parametrize("name", ["limit", "max_messages", "max_bytes"])
@pytest.mark.parametrize("wrong", ["3", 1.5, True, None, -1])
def test_a_count_of_a_subscription_is_a_whole_number(name, wrong):
    with pytest.raises(InvalidConfig, match=f"expected {name} >= [01], a whole number, got"):
        Subscription("a", **{name: wrong})


@pytest.mark.parametrize("wrong", ["3", 1.5, True, 0])
def test_a_limit_that_is_set_later_is_one_too(wire, wrong):
    w = wire().up()
    sub = w.open(Subscription("a"))
    with pytest.raises(InvalidConfig, match="limit >= 1"):
        w.connection.limit(sub, wrong, w.now)
    w.connection.limit(sub, 3, w.now)
    with pytest.raises(InvalidConfig, match="3, the current limit"):
        w.connection.limit(sub, 4, w.now)

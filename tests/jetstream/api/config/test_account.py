"""Accounts as documents."""

from __future__ import annotations

from jsproto.jetstream.api.config.account import AccountInfo, ApiStats


def test_b194_tiers_without_limits_and_an_answer_without_api_are_read() -> None:
    info = AccountInfo.from_wire({"tiers": {"R1": {"memory": 0, "storage": 1, "limits": {}}}})

    assert info.tiers["R1"].storage == 1
    assert info.tiers["R1"].limits.max_streams == 0
    assert info.api == ApiStats()
    assert AccountInfo.from_wire({}) == AccountInfo()


def test_b199_storage_beyond_32_bits_is_exact() -> None:
    info = AccountInfo.from_wire(
        {"storage": 3_000_000_000, "reserved_memory": 9_223_372_036_854_775_807}
    )

    assert (info.storage, info.reserved_memory) == (3_000_000_000, 9_223_372_036_854_775_807)
    assert info.to_wire()["reserved_memory"] == 9_223_372_036_854_775_807

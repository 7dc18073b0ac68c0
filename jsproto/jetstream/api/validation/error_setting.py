"""Finds the setting that caused an error: servers send a number, but rarely a setting.

Theory. The rules of :mod:`rules` map numbers to settings, and they can check the rejected
configuration: the first violation with the server's number names the setting. If there is none,
because only the server knows the reason, the number itself may belong to one setting only
(:data:`BLAMED`). If the server does not know a field, its text names it. If the server's level is
too low (10185), all settings that require a level are named. In all other cases the error names no
setting, because a guess could be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from jsproto.jetstream.api.errors import ApiLevelTooLow, JetStreamError
from jsproto.jetstream.api.validation.api_level import Feature
from jsproto.jetstream.api.validation.rules import (
    CONSUMER_RULES,
    STREAM_RULES,
    UPDATE_RULES,
    RuleViolation,
)

_UNKNOWN: Final = re.compile(r'unknown field "([A-Za-z0-9_]{1,64})"').search

#: Numbers without a rule, because only the server can check them, and their one setting.
_SERVERS: Final[Mapping[int, str]] = {
    10005: "placement",
    10011: "placement.tags",
    10017: "durable_name",
    10018: "durable_name",
    10020: "durable_name",
    10022: "sources.external.deliver",
    10028: "max_bytes",
    10030: "max_msg_size",
    10046: "max_msg_size",
    10047: "max_bytes",
    10056: "name",
    10061: "num_replicas",
    10065: "subjects",
    10074: "num_replicas",
    10085: "durable_name",
    10087: "max_waiting",
    10093: "filter_subject",
    10099: "filter_subject",
    10100: "filter_subject",
    10102: "name",
    10103: "durable_name",
    10106: "durable_name",
    10113: "max_bytes",
    10114: "max_batch",
    10120: "num_replicas",
    10122: "max_bytes",
    10123: "placement",
    10125: "max_batch",
    10127: "name",
    10128: "name",
    10131: "filter_subject",
    10137: "filter_subjects",
    10181: "ack_policy",
    10182: "replay_policy",
    10214: "mirror.consumer",
    10217: "sources.consumer",
}


def _alone() -> dict[int, str]:
    """Numbers for which all rules name the same setting."""
    settings: dict[int, set[str]] = {}
    for rule in (*STREAM_RULES, *UPDATE_RULES, *CONSUMER_RULES):
        settings.setdefault(rule.err_code, set()).add(rule.setting)
    return {number: min(names) for number, names in settings.items() if len(names) == 1}


#: Numbers that belong to one setting only.
BLAMED: Final[Mapping[int, str]] = {**_alone(), **_SERVERS}


def blamed(
    error: JetStreamError, found: Iterable[RuleViolation], leveled: Iterable[Feature] = ()
) -> JetStreamError:
    """The same error, with the setting that caused it, if that is known.

    Args:
        error: the server's error.
        found: violations of the rejected configuration.
        leveled: its features that require a level.
    """
    if isinstance(error, ApiLevelTooLow):
        return _blaming(error, ", ".join(map(str, leveled)))
    unknown = _UNKNOWN(error.description) if error.err_code == 10025 else None
    culprits = [each.setting for each in found if each.err_code == error.err_code]
    setting = unknown[1] if unknown else culprits[0] if culprits else BLAMED.get(error.err_code, "")
    return _blaming(error, setting)


def _blaming(error: JetStreamError, setting: str) -> JetStreamError:
    if not setting:
        return error
    return type(error)(
        error.code, error.err_code, error.description, evolve(error.about, setting=setting)
    )

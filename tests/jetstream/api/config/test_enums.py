"""The words are the server's."""

from __future__ import annotations

from jsproto.jetstream.api.config import enums


def test_the_words_of_every_set_are_those_of_the_server() -> None:
    words = {
        name: [word.value for word in kind]
        for name, kind in vars(enums).items()
        if isinstance(kind, type) and kind.__module__ == enums.__name__
    }

    assert words == {
        "RetentionPolicy": ["limits", "interest", "workqueue"],
        "DiscardPolicy": ["old", "new"],
        "StorageType": ["file", "memory"],
        "StoreCompression": ["none", "s2"],
        "PersistMode": ["default", "async"],
        "DeliverPolicy": [
            "all",
            "last",
            "new",
            "by_start_sequence",
            "by_start_time",
            "last_per_subject",
        ],
        "AckPolicy": ["none", "all", "explicit", "flow_control"],
        "ReplayPolicy": ["instant", "original"],
        "PriorityPolicy": ["none", "overflow", "pinned_client", "prioritized"],
        "ConsumerAction": ["", "create", "update"],
        "Rollup": ["sub", "all"],
    }

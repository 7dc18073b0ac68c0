import pytest

from jsproto.testing.proof.scene import base_of, grace_of, notes_of, server_of
from jsproto.testing.simserver.values.gotime import EPOCH_NS


def test_settings_are_found_in_the_notes(recorded):
    notes = [
        'own server; config: authorization { user: u, password: "p", timeout: 1 }; jetstream: off',
        'ping_interval: "500ms"\nmax_payload: 65536\nmax_connections: 1\nlame_duck_grace_period: "2s"',
    ]
    recording = recorded(notes=notes, version="2.12.8")
    server = server_of(recording, 0.0)

    assert server.profile.version == "2.12.8"
    assert server.auth.user == "u"
    assert (server.auth_timeout, server.ping_interval, server.max_payload) == (
        10**9,
        5 * 10**8,
        65536,
    )
    assert grace_of(notes_of(recording)) == 2.0


def test_permissions_are_found_in_the_notes(recorded):
    publish, subscribe = '{allow: ["ok.>"]}', '{allow: ["ok.>", "qq v1"], deny: ["ok.secret"]}'
    notes = [f"users: [{{user: u, permissions: {{publish: {publish}, subscribe: {subscribe}}}}}]"]
    permissions = server_of(recorded(notes=notes), 0.0).permissions

    assert permissions.publish_allow == ("ok.>",)
    assert permissions.subscribe_allow == ("ok.>", "qq v1")


def test_without_notes_it_is_a_plain_server(recorded):
    server = server_of(recorded(), 0.0)

    assert (server.auth, server.permissions.publish_allow, grace_of("")) == (None, (), 10.0)


@pytest.mark.parametrize(
    ("said", "heard", "base"),
    [
        (
            b'{"pause_until":1}',
            b"MSG s.a 1 $JS.ACK.S.C.1.1.1.%d.0 0\r\n" % (EPOCH_NS + 5 * 10**9),
            5.0,
        ),
        (
            b'{"start_time":1}',
            b"Nats-Sequence: 1\r\nNats-Time-Stamp: 2027-01-15T08:00:09Z\r\n",
            9.0,
        ),
        (b'{"start_time":1}', b"nothing that tells", 0.0),
        (
            b"no moment is named",
            b"MSG s.a 1 $JS.ACK.S.C.1.1.1.%d.0 0\r\n" % (EPOCH_NS + 5 * 10**9),
            0.0,
        ),
    ],
)
def test_the_wall_clock_is_the_recorded_one_where_the_client_names_moments(
    recorded, said, heard, base
):
    assert base_of(recorded((0, "c2s", said), (1, "s2c", heard))) == base

from jsproto.testing.proof.ids import Ids

PIN = b"NATS/1.0\r\nNats-Pin-Id: %b\r\n\r\n"


def test_the_nth_id_of_a_kind_stands_for_the_nth_of_the_model():
    ids = Ids()
    for pin in (b"one", b"one", b"two"):
        ids.heard("recorded", PIN % pin)
    for pin in (b"ONE", b"TWO"):
        ids.heard("modelled", PIN % pin)
    ids.heard("recorded", b"HMSG d 2 $JS.FC.S.C.abcd 36 36\r\n")
    ids.heard("modelled", b"HMSG d 2 $JS.FC.S.C.wxyz 36 36\r\n")

    assert ids.said(b'{"id":"two"} {"id":"one"} PUB $JS.FC.S.C.abcd 0') == (
        b'{"id":"TWO"} {"id":"ONE"} PUB $JS.FC.S.C.wxyz 0'
    )


def test_an_id_that_the_model_has_not_made_stays():
    ids = Ids()
    ids.heard("recorded", PIN % b"one")

    assert ids.said(b'{"id":"one"}') == b'{"id":"one"}'

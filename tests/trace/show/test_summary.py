from jsproto.trace.formats.recording import Received, Sent
from jsproto.trace.show.summary import MOST_PULLS, Summary

PULL = b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p 0\r\n\r\n"


def test_all_pulls_are_counted_and_the_first_are_shown():
    summary = Summary()
    summary.feed(2, Sent(at=0.5, conn="a", data=PULL * (MOST_PULLS + 7)))

    assert summary.asked == {"pull": MOST_PULLS + 7}
    assert len(summary.pulls) == MOST_PULLS
    assert (summary.records, summary.at) == (1, 0.5)


def test_answers_to_flow_control_and_what_has_no_number_are_told_apart():
    summary = Summary()
    summary.feed(
        2, Sent(at=0.0, conn="a", data=b"PUB $JS.FC.S.C.a 0\r\n\r\nPUB $JS.API.WHAT 0\r\n\r\n")
    )
    summary.feed(3, Received(at=0.0, conn="a", data=b"-ERR 'no'\r\n"))

    assert summary.asked == {"flow control": 1, "unknown": 1}
    assert summary.commands == {"PUB": 2}

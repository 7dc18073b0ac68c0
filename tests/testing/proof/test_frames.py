import pytest

from jsproto.testing.proof.frames import Frame, FrameReader

STREAM = (
    b"INFO {} \r\nMSG a 1 3\r\na\r\n\r\nHMSG b 2  12 14\r\nNATS/1.0\r\n\r\nhi\r\nMSG c 3 in.r 0\r\n\r\nPONG\r\n"
    b"HMSG d 4 in.h 12 12\r\nNATS/1.0\r\n\r\n\r\n"
)
FRAMES = [
    Frame("INFO {} ", b"", b""),
    Frame("MSG a 1 3", b"", b"a\r\n"),
    Frame("HMSG b 2  12 14", b"NATS/1.0\r\n\r\n", b"hi"),
    Frame("MSG c 3 in.r 0", b"", b""),
    Frame("PONG", b"", b""),
    Frame("HMSG d 4 in.h 12 12", b"NATS/1.0\r\n\r\n", b""),
]


@pytest.mark.parametrize("size", [1, 2, 7, len(STREAM)])
def test_frames_come_out_whole_however_the_bytes_are_cut(size):
    reader = FrameReader()
    frames = [
        frame for at in range(0, len(STREAM), size) for frame in reader.feed(STREAM[at : at + size])
    ]

    assert frames == FRAMES


def test_a_message_has_a_subject_and_a_reply_if_there_are_words_enough():
    messages = [frame for frame in FRAMES if frame.is_message]

    assert [(each.subject, each.reply) for each in messages] == [
        ("a", ""),
        ("b", ""),
        ("c", "in.r"),
        ("d", "in.h"),
    ]

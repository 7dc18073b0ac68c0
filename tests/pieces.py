"""What a reader copies of one large frame that comes in small pieces, in bytes: it does not depend
on how fast the machine is.
"""

import tracemalloc


def copied(feed, data, piece):
    """The sum, over all pieces, of the most memory that feeding one of them took beside what was
    held before; and what came out.
    """
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    total, found = 0, []
    tracemalloc.start()
    try:
        for each in pieces:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            found += feed(each)
            total += tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    return total, found

"""Every error of the tree can be pickled, copied and written into a snapshot, and is the same
afterwards.
"""

from __future__ import annotations

import copy
import pickle

import pytest

import jsproto
from jsproto.core.state import error_read, error_written
from jsproto.errors import JsprotoError
from jsproto.jetstream.api.errors import RequestContext

#: What the classes of the tree are made with; the first that fits is taken.
ARGUMENTS = (
    (404, 10059, "stream not found", RequestContext(what="look up", stream="S")),
    (409, "Consumer Deleted", "in words of our own"),
    ("expected a, got b", "orders.new", "publish"),
    ("expected a, got b", b"body"),
    ("expected a, got b",),
)


def kinds():
    found = [JsprotoError]
    for kind in found:
        found += [each for each in kind.__subclasses__() if each not in found]
    return [kind for kind in found if kind.__module__.startswith(f"{jsproto.__name__}.")]


def made(kind):
    own = (
        kind.__init__.__module__.startswith(jsproto.__name__)
        if hasattr(kind.__init__, "__module__")
        else False
    )
    for arguments in ARGUMENTS if own else ARGUMENTS[-1:]:
        try:
            error = kind(*arguments)
        except TypeError:
            continue
        error.add_note("seen at night")
        return error
    return pytest.fail(f"expected a way to make {kind.__name__}")


def shown(error):
    return (type(error), error.args, str(error), vars(error))


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "way",
    [
        lambda error: pickle.loads(pickle.dumps(error)),
        copy.copy,
        copy.deepcopy,
        lambda error: error_read(error_written(error)),
    ],
    ids=["pickled", "copied", "copied deeply", "through a snapshot"],
)
def test_an_error_is_the_same_after_a_journey(kind, way):
    error = made(kind)

    assert shown(error) == shown(way(error))

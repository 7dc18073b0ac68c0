"""What happens in a fork of a test: it ends within 20 s, whatever becomes of it, and nothing of the
test's own ends is run in it.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from typing import Final

#: Seconds until a fork that hangs is ended by its alarm.
_LIMIT: Final = 20


def forked(work: Callable[[], object]) -> int:
    """Do ``work`` in a fork; its exit code: 0, 1 if it raised, which is written to stderr, or the
    negated signal that ended it.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_LIMIT)
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, it stays in the fork
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

"""How many lines of code some work runs: it does not depend on how fast the machine is."""

import sys


def lines_run(work):
    """The number of lines that run while ``work`` is called without arguments, in all that it
    calls.
    """
    lines = 0

    def trace(_frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines

"""``python -m jsproto`` is the command ``jsproto``. It stands in `jsproto_cli`, above the pure
floors, which are loaded without it.
"""

from __future__ import annotations

import runpy

if __name__ == "__main__":
    runpy.run_module("jsproto_cli", run_name="__main__", alter_sys=True)

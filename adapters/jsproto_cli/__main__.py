"""Runs the command ``jsproto`` as ``python -m jsproto_cli``."""

from __future__ import annotations

import sys

from jsproto_cli.main import main

if __name__ == "__main__":
    sys.exit(main())

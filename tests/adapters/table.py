"""Every adapter, and what it runs on: the module of `jsproto_io`, and the backend as `check_driver`
names it.
"""

from __future__ import annotations

ADAPTERS = {
    "asyncio": ("asyncio", "asyncio"),
    "trio": ("trio", "trio"),
    "anyio-asyncio": ("anyio", "asyncio"),
    "anyio-trio": ("anyio", "trio"),
    "blocking": ("blocking", "blocking"),
}

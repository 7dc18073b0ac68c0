"""A real browser for tests: Debian's Chromium without a screen, driven by the DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Seconds for anything that a browser is waited for.
PATIENCE = 30.0
#: Keys that are no text, by their names.
KEYS = {
    "ArrowDown": 40,
    "ArrowUp": 38,
    "Home": 36,
    "End": 35,
    "PageDown": 34,
    "PageUp": 33,
    "Enter": 13,
    "Escape": 27,
}


def chromium() -> str | None:
    """Where it is, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab.

    Attributes:
        asked: addresses that it asked the network for.
        wrong: what its scripts threw, and what the browser complained about.
    """

    def __init__(self, link: ClientConnection) -> None:
        self._link = link
        self._numbers = itertools.count(1)
        self.asked: list[str] = []
        self.wrong: list[str] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._say(f"{domain}.enable")

    def _say(self, method: str, **params: object) -> dict[str, Any]:
        number = next(self._numbers)
        self._link.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self._link.recv(timeout=PATIENCE))
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]
            self._heard(told)

    def _heard(self, told: dict[str, Any]) -> None:
        params = told["params"]
        if told["method"] == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif told["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.wrong.append(details.get("exception", details).get("description", details["text"]))
        elif told["method"] == "Log.entryAdded":
            self.wrong.append(params["entry"]["text"])

    def look(self, *, width: int = 1440, height: int = 900, dark: bool = False) -> None:
        """How large its window is, and which colours are preferred."""
        self._say(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._say("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, *, until: str) -> None:
        """Open a file, and wait until an expression is true."""
        self._say("Page.navigate", url=path.as_uri())
        self.wait(until)

    def value(self, expression: str) -> Any:
        """What an expression is."""
        told = self._say(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        script = f"(async () => {{ await new Promise(requestAnimationFrame); return !!({expression}); }})()"
        while not self.value(script):
            assert time.monotonic() < end, f"{expression} did not come true; {self.wrong}"

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            about = {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {"text": key}
            self._say("Input.dispatchKeyEvent", type="keyDown", key=key, **about)
            self._say("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, x: float, y: float) -> None:
        """Click somewhere."""
        for kind in ("mousePressed", "mouseReleased"):
            self._say("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """Save what is seen as PNG."""
        self.wait("true")
        path.write_bytes(
            base64.b64decode(self._say("Page.captureScreenshot", format="png")["data"])
        )


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser with one tab, whose profile is in this folder; it is gone afterwards."""
    command = chromium()
    assert command is not None
    options = (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    )
    running = subprocess.Popen(
        [
            command,
            *options,
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stderr is not None
        door = next(
            line.split()[-1] for line in running.stderr if line.startswith("DevTools listening on")
        )
        with connect(door, max_size=None, open_timeout=PATIENCE) as root:
            root.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
            targets = json.loads(root.recv(timeout=PATIENCE))["result"]["targetInfos"]
        tab = next(each["targetId"] for each in targets if each["type"] == "page")
        with connect(f"{door.split('/devtools')[0]}/devtools/page/{tab}", max_size=None) as link:
            yield Page(link)
    finally:
        running.terminate()
        running.communicate(timeout=PATIENCE)

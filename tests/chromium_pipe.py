"""Chromium without a display, driven over its debugging pipe: no port, no driver, no further library.

By hand: Playwright, with its process of Node.js, takes a third more processor time for the same tests.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
DEADLINE_S = 300.0
"""It only ends a test that has failed: axe takes most of a minute for a large page on a busy machine."""


def executable() -> str | None:
    """Where Chromium is installed, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class _Chromium:
    """The process, with its pipes; its start takes a second of processor time, so that it is shared."""

    def __init__(self, profile: Path) -> None:
        path = executable()
        assert path is not None
        commands_in, self._commands = os.pipe()
        self._replies, replies_out = os.pipe()
        # Chromium reads file descriptor 3 and writes 4; a shell puts ours there
        shell = f'exec "$0" "$@" 3<&{commands_in} 4>&{replies_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(commands_in, replies_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_in)
        os.close(replies_out)
        self._buffer = b""
        self.numbers = itertools.count(1)

    def write(self, message: dict[str, Any]) -> None:
        """Send a command."""
        os.write(self._commands, json.dumps(message).encode() + b"\0")

    def next(self) -> dict[str, Any]:
        """Return the next reply or event."""
        deadline = time.monotonic() + DEADLINE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._replies], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._replies, 1 << 20) if ready else b""
            assert data, "Chromium went away or is silent"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def end(self) -> None:
        """Close the pipes and wait until the process is gone."""
        os.close(self._commands)
        os.close(self._replies)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Browser:
    """One open page, whose cookies and cache no other one sees."""

    def __init__(self, process: _Chromium) -> None:
        self._process = process
        self._session = ""
        self.events: list[dict[str, Any]] = []
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        page = {"url": "about:blank", "browserContextId": self._context}
        target = self.call("Target.createTarget", **page)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Close the page and forget what it kept."""
        self._session = ""
        self.call("Target.disposeBrowserContext", browserContextId=self._context)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and return its result."""
        number = next(self._process.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._process.write(message)
        while True:
            reply = self._next()
            if reply.get("id") == number:
                assert "error" not in reply, f"{method}: {reply['error']}"
                return dict(reply["result"])
            self.events.append(reply)

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is worth in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def size(self, width_px: int, scheme: str, medium: str = "", *, reduced_motion: bool = False) -> None:
        """Set the width and the colour scheme of pages."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width_px, height=900, deviceScaleFactor=1, mobile=width_px < 600,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        if reduced_motion:
            features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def show(self, page: Path, width_px: int, scheme: str, medium: str = "") -> None:
        """Load a page at a width, in a colour scheme."""
        self.size(width_px, scheme, medium)
        self.open(page.resolve().as_uri())

    def open(self, url: str) -> None:
        """Load an address, with its images."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for_load()
        self.value(
            "Promise.all([...document.images].filter(image => image.loading !== 'lazy')"
            ".map(image => image.decode().catch(() => null))).then(() => 1)"
        )

    def wait_for_load(self) -> None:
        """Wait until a page has loaded since the events were cleared."""
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        """Return the next reply, or event of this page."""
        while True:
            message = self._process.next()
            if "id" in message or message.get("sessionId") == self._session:
                return message


_running: list[_Chromium] = []
"""The process, once a test of this one has needed it."""


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Open a page in Chromium, started with an empty profile where none runs; the page is gone at the end."""
    if not _running:
        _running.append(_Chromium(profile))
        atexit.register(_end)
    try:
        browser = Browser(_running[0])
        yield browser
        browser.close()
    except BaseException:  # the next test gets a new one
        _end()
        raise


def _end() -> None:
    while _running:
        _running.pop().end()

"""Chromium without a display, driven over its debugging pipe: no port, no driver, no further library.

By hand: Playwright, with its process of Node.js, takes a third more processor time for the same tests.
"""

from __future__ import annotations

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


class Browser:
    """One open page.

    Args:
        write_fd: Where Chromium reads commands.
        read_fd: Where it writes replies and events.
    """

    def __init__(self, write_fd: int, read_fd: int) -> None:
        self._write_fd, self._read_fd = write_fd, read_fd
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write_fd, json.dumps(message).encode() + b"\0")
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
        deadline = time.monotonic() + DEADLINE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._read_fd], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._read_fd, 1 << 20) if ready else b""
            assert data, "Chromium went away or is silent"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile; it is gone at the end."""
    path = executable()
    assert path is not None
    commands_in, commands_out = os.pipe()
    replies_in, replies_out = os.pipe()
    # Chromium reads file descriptor 3 and writes 4; a shell puts ours there
    shell = f'exec "$0" "$@" 3<&{commands_in} 4>&{replies_out}'
    process = subprocess.Popen(
        ["bash", "-c", shell, path, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(commands_in, replies_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands_in)
    os.close(replies_out)
    try:
        yield Browser(commands_out, replies_in)
    finally:
        os.close(commands_out)
        os.close(replies_in)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

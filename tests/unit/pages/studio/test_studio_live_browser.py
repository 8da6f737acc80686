"""A recording in progress in a real browser: followed, left, followed again, until it is a whole one."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chromium_pipe import DEADLINE_S, Browser, chromium, executable
from page_checks import CONTRAST, sticking_out
from recorder_process import recorder_process
from studio_process import running_studio

pytestmark = pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the pages"
)
SHOWN = (
    "(() => {{ const i = document.querySelector('[data-view=top] [data-side=clean]');"
    " return i.src.endsWith('/clean/{}') && i.naturalWidth === 64; }})()"
)
BADGE = "document.querySelector('[data-recorded]').textContent"


def _until(browser: Browser, condition: str) -> None:
    """Wait until a condition holds; the page may be replaced meanwhile, so that no promise of it can wait."""
    deadline_s = time.monotonic() + DEADLINE_S
    result: dict[str, Any] = {}
    while not result.get("value"):
        assert time.monotonic() < deadline_s, f"{condition}: {result}"
        time.sleep(0.05)
        with suppress(AssertionError):  # no page at this moment
            result = browser.call("Runtime.evaluate", expression=condition, returnByValue=True)["result"]


def test_a_recording_is_followed_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with (
        recorder_process(tmp_path / "run" / "trial.mcap") as recorder,
        running_studio(tmp_path / "run") as studio,
        chromium(tmp_path / "profile") as browser,
    ):
        recorder.do("start", 0)
        recorder.frames(0, range(20))
        browser.size(420, "light", reduced_motion=True)
        browser.open(f"{studio}/run/run/0/0")
        _until(browser, SHOWN.format(19))
        assert browser.value(BADGE) == "recording, 1 s so far"
        out = browser.value(sticking_out(420, ".scroll", ".window"))
        assert out == []
        assert browser.value(CONTRAST) == []
        recorder.frames(0, range(20, 40))
        _until(browser, SHOWN.format(39))
        assert browser.value(BADGE) == "recording, 3 s so far"
        assert browser.value("location.hash") == "", "the newest moment has no address of its own"
        browser.value("document.querySelector('[data-step=\"-1\"]').click()")
        assert not browser.value("document.querySelector('[data-follow]').checked")
        recorder.frames(0, range(40, 60))
        _until(browser, f"{BADGE}.includes(', 4 s')")
        assert browser.value("location.hash") == "#t=2.53", "a look back stays where it is"
        browser.value("document.querySelector('[data-follow]').click()")
        _until(browser, SHOWN.format(59))
        recorder.do("end", 0, 60)
        recorder.do("start", 1)
        recorder.frames(1, range(2))
        _until(
            browser, "location.pathname.endsWith('/0/1') && !!document.querySelector('[data-side=distorted]')"
        )
        recorder.do("end", 1, 2)
        recorder.do("close")
        _until(browser, "document.readyState === 'complete' && !document.querySelector('[data-follow]')")
        assert browser.value("document.querySelector('[data-lane] h2').textContent.includes('success')")
        assert [event for event in browser.events if event["method"] == "Runtime.exceptionThrown"] == []

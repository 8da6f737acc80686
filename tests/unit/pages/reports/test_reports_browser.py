"""The page in a real browser: everything loads, nothing is asked for, nothing sticks out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_pages import CONTEXT, page_of, reported
from synthetic_trial import BLURRED, NOISY, REFERENCE, RunPlan, write_trial

from chromium_pipe import Browser, chromium, executable
from embodied_iqa.imaging.images.frame import View
from page_checks import CONTRAST, sticking_out

pytestmark = pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the page"
)

WIDE = "x" * 400
SIZES = (320, 390, 768, 1024, 1440, 1920)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    wide = RunPlan(BLURRED.spec, reason=WIDE, answer=f"A {WIDE} cube")
    views = (View.TOP, View.WRIST, View.SIDE)
    path = write_trial(folder / "trial.mcap", (REFERENCE, BLURRED, NOISY, wide), width_px=320, views=views)
    bare = write_trial(folder / "bare.mcap", (REFERENCE,), views=(), task=WIDE)
    context = dataclasses.replace(CONTEXT, command_line=WIDE, config_text=WIDE, versions={WIDE: WIDE})
    page_of([reported(path), reported(bare)], folder, context)
    return folder / "report.html"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task in shadow, and with a gate that the arm obeys, under a burst."""
    folder = tmp_path_factory.mktemp("compared")
    course = "burst:start=0.25,length=1.75,every=0,view=wrist"
    burst = dataclasses.replace(NOISY, spec=dataclasses.replace(NOISY.spec, schedule=course))
    plans = (REFERENCE, BLURRED, burst)
    recordings = [write_trial(folder / f"{mode}.mcap", plans, gate_mode=mode) for mode in (1, 0)]
    page_of([reported(recording) for recording in recordings], folder)
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def _complaints(events: list[dict[str, Any]]) -> list[Any]:
    wanted = {
        "Log.entryAdded",
        "Runtime.consoleAPICalled",
        "Runtime.exceptionThrown",
        "Network.loadingFailed",
    }
    return [event for event in events if event["method"] in wanted]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width_px", SIZES)
def test_opens_without_complaint(browser: Browser, page: Path, width_px: int, scheme: str) -> None:
    browser.show(page, width_px, scheme)
    assert _complaints(browser.events) == []
    asked = [event["params"]["request"]["url"] for event in browser.events
             if event["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert [url for url in asked if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert browser.value("document.images.length") == 3 + 3 * 6
    assert browser.value("[...document.images].filter(image => image.naturalWidth === 0).length") == 0
    assert browser.value("document.documentElement.scrollWidth") <= width_px
    assert browser.value(sticking_out(width_px)) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read(browser: Browser, page: Path, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: contrast of at least 4.5."""
    browser.show(page, 1440, scheme)
    assert browser.value(CONTRAST) == []


def test_the_two_schemes_differ(browser: Browser, page: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        browser.show(page, 1440, scheme)
        grounds.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


def test_overlays_lie_exactly_on_their_images(browser: Browser, page: Path) -> None:
    browser.show(page, 390, "light")
    off = """Math.max(...[...document.querySelectorAll('.overlay')].map(item => {
      const a = item.getBoundingClientRect(), b = item.previousElementSibling.getBoundingClientRect();
      return Math.max(Math.abs(a.left - b.left), Math.abs(a.top - b.top), Math.abs(a.width - b.width),
                      Math.abs(a.height - b.height));
    }))"""
    assert browser.value(off) < 0.5


@pytest.mark.parametrize("width_px", SIZES)
def test_no_word_of_a_table_is_broken(browser: Browser, compared: Path, width_px: int) -> None:
    browser.show(compared, width_px, "light")
    # On a phone the head of a table is for screen readers alone.
    broken = """[...document.querySelectorAll('.runs td, .runs thead th')].flatMap(cell => {
      if (getComputedStyle(cell.closest('thead') ?? cell).position === 'absolute') return [];
      const found = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = new Range();
      while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[a-z0-9.]+/gi)) {
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) found.push(word[0]);
      }
      return found;
    })"""
    assert browser.value(broken) == []
    assert browser.value("document.documentElement.scrollWidth") <= width_px


@pytest.mark.parametrize("width_px", [390, 1440])
def test_words_of_drawings_stay_inside(browser: Browser, page: Path, width_px: int) -> None:
    browser.show(page, width_px, "light")
    outside = """[...document.querySelectorAll('.plot text')].filter(item => {
      const a = item.getBoundingClientRect(), b = item.ownerSVGElement.getBoundingClientRect();
      return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
    }).map(item => item.textContent)"""
    assert browser.value(outside) == []
    over_each_other = """[...document.querySelectorAll('.plot')].flatMap(plot => {
      const boxes = [...plot.querySelectorAll('text')].map(item => item.getBoundingClientRect());
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
    }).length"""
    assert browser.value(over_each_other) == 0


def test_prints_without_losing_anything(browser: Browser, page: Path) -> None:
    browser.show(page, 794, "dark", medium="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value("document.documentElement.scrollWidth") <= 794
    assert browser.value(CONTRAST) == []

"""The studio in a real browser: every page at two widths and in both schemes, slider, keys, player."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chromium_pipe import Browser, chromium, executable
from database_folders import add_cameras, write_database
from page_checks import CONTRAST, sticking_out
from studio_process import running_studio
from trial_recording import NOISE, write_trial

pytestmark = pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the pages"
)
PAGES = (
    "/", "/db/made", "/db/made?level=1&of=vla-0", "/db/made/pair/r00000-12", "/db/made/leaderboard",
    "/run/watch", "/run/watch/0/1", "/run/watch/0/1?beside=watch/0/0", "/nothing",
)  # fmt: skip
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("studio")
    add_cameras(write_database(folder / "made", references=2, images=True), 2)
    (folder / "watch").mkdir()
    write_trial(folder / "watch" / "trial.mcap", (None, NOISE))
    with running_studio(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def _press(browser: Browser, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")


@pytest.mark.parametrize("width_px", [420, 1280])
def test_pages_fit_and_can_be_read(browser: Browser, studio: str, width_px: int) -> None:
    """A scheme changes colours alone (`test_studio_accessibility.py`): each page is loaded once for both."""
    for page in PAGES:
        browser.size(width_px, "light", reduced_motion=True)
        browser.open(studio + page)
        assert browser.value("document.documentElement.scrollWidth") <= width_px, page
        out = browser.value(sticking_out(width_px, ".scroll", ".window"))
        assert out == [], page
        for scheme in ("light", "dark"):
            browser.size(width_px, scheme, reduced_motion=True)
            assert browser.value(CONTRAST) == [], f"{page} {scheme}"
        names = "[...document.querySelectorAll('a, button, select, input:not([type=hidden])')]"
        unnamed = f"{names}.filter(i => !(i.textContent.trim() || i.ariaLabel || i.labels?.length)).length"
        assert browser.value(unnamed) == 0, page
        faults = [event for event in browser.events if event["method"] == "Runtime.exceptionThrown"]
        logged = [event["params"]["entry"] for event in browser.events if event["method"] == "Log.entryAdded"]
        assert not faults, page
        assert [entry["text"] for entry in logged if "404" not in entry["text"]] == [], page
        requests = [event for event in browser.events if event["method"] == "Network.requestWillBeSent"]
        addresses = [event["params"]["request"]["url"] for event in requests]
        assert all(address.startswith((studio, "data:")) for address in addresses), page


def test_slider_and_zoom_move_both_images(browser: Browser, studio: str) -> None:
    browser.size(1280, "light", reduced_motion=True)
    browser.open(f"{studio}/db/made/pair/r00000-12")
    assert browser.value("document.querySelector('[data-compare]').classList.contains('wipe')")
    browser.value("document.querySelector('[data-slider]').value = 20")
    browser.value("document.querySelector('[data-slider]').dispatchEvent(new Event('input'))")
    clip = "getComputedStyle(document.querySelector('.pane.distorted')).clipPath"
    assert browser.value(clip) == "inset(0px 0px 0px 20%)"
    _press(browser, "+")
    moved = browser.value("[...document.querySelectorAll('.zoom')].map(item => item.style.transform)")
    assert moved[0] == moved[1]
    assert "scale(1.5)" in moved[0]
    _press(browser, "s")
    assert browser.value(clip) == "none"


def test_filters_submit_themselves_and_stay_in_the_address(browser: Browser, studio: str) -> None:
    browser.size(1280, "light", reduced_motion=True)
    browser.open(f"{studio}/db/made")
    browser.events.clear()
    browser.value(
        "(() => { const s = document.querySelector('[name=level]'); s.value = '2';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    browser.wait_for_load()
    assert "level=2" in browser.value("location.search")
    assert "verb=" not in browser.value("location.search"), "empty fields stay out"


@pytest.mark.parametrize("width_px", [420, 1280])
def test_the_table_is_sorted_at_every_width(browser: Browser, studio: str, width_px: int) -> None:
    """By its headings where they are shown, else by fields of the form."""
    browser.size(width_px, "light", reduced_motion=True)
    browser.open(f"{studio}/db/made?sort=level")
    shown = "(item => item.checkVisibility({visibilityProperty: true}) && item.offsetHeight > 1)"
    headings = browser.value(f"[...document.querySelectorAll('thead a')].some({shown})")
    field = browser.value(f"{shown}(document.querySelector('[name=down]'))")
    assert [headings, field] == [width_px > 700, width_px < 700]
    browser.events.clear()
    if headings:
        browser.value("document.querySelector('[aria-sort] a').click()")
    else:
        change = "new Event('change', {bubbles: true})"
        browser.value(
            "(() => { const s = document.querySelector('[name=down]'); s.value = 1;"
            f" s.dispatchEvent({change}); }})()"
        )
    browser.wait_for_load()
    levels = browser.value("[...document.querySelectorAll('[data-label=Level]')].map(i => i.textContent)")
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) > 1


def test_the_player_steps_jumps_and_keeps_its_time(browser: Browser, studio: str) -> None:
    browser.size(1280, "light", reduced_motion=True)
    browser.open(f"{studio}/run/watch/0/1")
    _press(browser, ".")
    browser.value(FRAME)
    assert browser.value("location.hash") == "#t=0.07"
    _press(browser, "d")
    assert browser.value("location.hash") == "#t=0.13", "the decision on the third frame"
    shown = "[...document.querySelectorAll('[data-side]')].every(i => i.wanted.endsWith('/2'))"
    assert browser.value(shown)
    _press(browser, ",")
    assert browser.value("location.hash") == "#t=0.07"
    assert browser.value("document.querySelector('[data-verdict]').textContent.length > 0")


def test_reasons_are_shown_whole_where_the_player_stands(browser: Browser, studio: str) -> None:
    """While it plays they are cut, so that nothing moves up and down."""
    browser.size(1280, "light", reduced_motion=True)
    browser.open(f"{studio}/run/watch/0/1")
    place = "document.querySelector('[data-why]')"
    browser.value(f"{place}.textContent = 'too dark; '.repeat(30)")
    cut = f"{place}.scrollHeight > {place}.clientHeight + 1"
    assert not browser.value(cut)
    strip = "document.querySelector('.strip').getBoundingClientRect()"
    below = f"{place}.getBoundingClientRect().top >= {strip}.bottom"
    assert browser.value(below), "a long reason makes no row high"
    # In one expression: between two, the player draws the next image and writes its own reason.
    assert browser.value(f"(play(true), {place}.textContent = 'too dark; '.repeat(30), {cut})")


def test_the_link_to_judging_runs_keeps_a_distance_from_the_card_above(browser: Browser, studio: str) -> None:
    browser.size(1280, "light", reduced_motion=True)
    browser.open(studio + "/")
    link = "document.querySelector('a[href=\"/judge\"]').parentElement"
    above = f"{link}.previousElementSibling.getBoundingClientRect().bottom"
    assert browser.value(f"{link}.getBoundingClientRect().top - {above}") >= 8

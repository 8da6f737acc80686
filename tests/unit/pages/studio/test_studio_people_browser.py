"""Annotation, verification and judging in a real browser: by keyboard alone, on a phone, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium_pipe import Browser, chromium, executable
from database_folders import write_database
from embodied_iqa.data.journal.changes import Verify, WriteTasks
from embodied_iqa.data.journal.journal import Journal
from page_checks import CONTRAST, sticking_out
from studio_process import running_studio

pytestmark = pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the pages"
)
PAGES = (
    "/person", "/db/made/annotate", "/db/made/annotate/r00000", "/db/made/verify/r00000",
    "/db/made/verify/r00000?blind=0", "/db/made/settle/r00000", "/db/made/spot", "/db/made/agreement",
    "/db/made/edits", "/judge",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studio") / "made"
    write_database(path, references=2, subjects=1, images=True)
    return path


@pytest.fixture(scope="module")
def studio(folder: Path) -> Iterator[str]:
    with running_studio(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def _press(browser: Browser, key: str, modifiers: int = 0) -> None:
    text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
    code = {"Enter": 13, "Tab": 9, "Escape": 27}.get(key, ord(key.upper()) if len(key) == 1 else 0)
    common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
    browser.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **common)


def _type(browser: Browser, text: str) -> None:
    browser.call("Input.insertText", text=text)


def _loaded(browser: Browser) -> None:
    """Wait for the page that a key has asked for."""
    browser.wait_for_load()
    browser.events.clear()


def _await_focus(browser: Browser, name: str) -> None:
    """Wait until a field has the focus; a page sets it after its load, when it is first drawn."""
    _await(browser, f"document.activeElement.name === '{name}'")


def _await(browser: Browser, condition: str) -> None:
    """Wait until an expression is true; it is looked at whenever the page is drawn."""
    while not browser.value(condition):
        browser.value("new Promise(done => requestAnimationFrame(() => done(1)))")


def _sign_in(browser: Browser, studio: str, name: str, back: str) -> None:
    browser.open(f"{studio}/person?back={back}")
    browser.events.clear()
    _await_focus(browser, "person")
    browser.value("document.activeElement.select()")
    _type(browser, name)
    _press(browser, "Enter")
    _loaded(browser)


def test_tasks_are_written_and_verified_by_keyboard_alone(
    browser: Browser, studio: str, folder: Path
) -> None:
    browser.size(420, "light")
    _sign_in(browser, studio, "anna", "/db/made/annotate/r00000")
    # the first task has the focus; Enter leads on
    sentences = ("pick the cube", "push the purpel cube", "tidy up")
    for rank, sentence in enumerate(sentences, 1):
        _await_focus(browser, f"text{rank}")
        browser.value("document.activeElement.select()")
        _type(browser, sentence)
        _press(browser, "Enter")
    _await_focus(browser, "text4")
    _await(browser, "document.getElementById('advice2').textContent.includes('purpel: purple?')")
    _press(browser, "Escape")
    _press(browser, "2")
    assert browser.value("document.activeElement.name") == "text2"
    browser.value("document.activeElement.select()")
    _type(browser, "push the purple cube")
    for field in ("text4", "text5"):
        browser.value(f"document.querySelector('[name={field}]').value = ''")
    browser.events.clear()
    _press(browser, "Enter", modifiers=2)
    _loaded(browser)
    change = Journal(folder).view().edits[-1].change
    assert isinstance(change, WriteTasks)
    assert [task.text for task in change.tasks] == ["pick the cube", "push the purple cube", "tidy up"]

    _sign_in(browser, studio, "ben", "/db/made/verify/r00000")
    assert browser.value("document.querySelectorAll('fieldset.verdict').length") == 3
    _press(browser, "f")
    assert browser.value("document.activeElement.hasAttribute('data-save')")
    browser.events.clear()
    _press(browser, "Enter")
    _loaded(browser)
    edit = Journal(folder).view().edits[-1]
    assert isinstance(edit.change, Verify)
    assert (edit.person, edit.change.blind, edit.change.ordered) == ("ben", True, False)


@pytest.mark.parametrize(("width_px", "scheme"), [(420, "dark"), (1280, "light")])
def test_pages_fit_and_can_be_read(browser: Browser, studio: str, width_px: int, scheme: str) -> None:
    browser.size(width_px, scheme)
    _sign_in(browser, studio, "cleo", "/db/made/annotate")
    for page in PAGES:
        browser.open(studio + page)
        assert browser.value("document.documentElement.scrollWidth") <= width_px, page
        out = browser.value(sticking_out(width_px, ".scroll", ".window"))
        assert out == [], page
        assert browser.value(CONTRAST) == [], page
        names = "[...document.querySelectorAll('a, button, select, input:not([type=hidden])')]"
        unnamed = f"{names}.filter(i => !(i.textContent.trim() || i.ariaLabel || i.labels?.length)).length"
        assert browser.value(unnamed) == 0, page
        faults = [event for event in browser.events if event["method"] == "Runtime.exceptionThrown"]
        assert not faults, page

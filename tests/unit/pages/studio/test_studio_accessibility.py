"""Every page of the studio: axe-core, narrow and wide, light and dark; nothing moves where unwanted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from accessibility import LOOKS, OTHER_LOOKS, axe_violations, needs_axe, violations_of_a_look
from chromium_pipe import Browser, chromium, executable
from database_folders import add_cameras, write_database, write_experiment
from embodied_iqa import pages
from embodied_iqa.data.journal.changes import (
    JudgeRun,
    Reject,
    SpotCheck,
    TaskVerdict,
    Undo,
    Verdict,
    Verify,
    WriteTasks,
    WrittenTask,
)
from embodied_iqa.data.journal.journal import Journal
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.people.judge_page import Connection
from embodied_iqa.pages.studio.people.person import COOKIE
from embodied_iqa.runs.trial.attendance import Answer, Question
from embodied_iqa.runs.trial.judging import JudgingState
from embodied_iqa.runs.trial.protocol import Stage
from studio_process import threaded_studio
from trial_recording import NOISE, image, write_trial

PAIR = "/db/made/pair/r00000-12"
PAGES = (
    "/", "/db/made", "/db/made?level=1&of=vla-0&sort=score", "/db/made?level=5&view=top", PAIR,
    PAIR + "?task=2", "/db/made/leaderboard", "/experiment/trials", "/run/watch", "/run/watch/0/1",
    "/run/watch/0/1?beside=watch/0/0", "/nothing", "/person", "/db/made/annotate",
    "/db/made/annotate?standing=rejected", "/db/made/annotate/r00000", "/db/made/annotate/r00001",
    "/db/made/annotate/r00002", "/db/made/verify/r00000", "/db/made/verify/r00000?blind=0",
    "/db/made/settle/r00000", "/db/made/spot", "/db/made/spot?role=vla", "/db/made/agreement",
    "/db/made/edits", "/db/empty/edits", "/images/photos",
)  # fmt: skip
MOVING = """
document.getAnimations().length + [...document.querySelectorAll('*')].filter(item => {
  const style = getComputedStyle(item);
  return style.transitionDuration.split(',').some(one => parseFloat(one)) || style.animationName !== 'none'
    || style.scrollBehavior !== 'auto';
}).length"""
TASKS = (WrittenTask(1, "pick the cube"), WrittenTask(2, "push the cube to the cup"))
MODES = {
    "prepare": JudgingState(Question(Stage.PREPARE, 1, 3, "the scene was moved"), "", "pick the cube", "t1"),
    "judge": JudgingState(Question(Stage.JUDGE, 1, 3, "the run took too long"), "", "pick the cube", "t1"),
    "no trial": JudgingState(problem="no trial on a real arm is running"),
}
pytestmark = pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the pages"
)


class Judge:
    """A trial that asks what a test wants."""

    now = MODES["no trial"]

    def state(self) -> JudgingState:
        return self.now

    def answer(self, question: Question, answer: Answer) -> str:
        raise NotImplementedError


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, judge: Judge) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("studio")
    add_cameras(write_database(folder / "made", references=3, subjects=2, images=True), 3)
    write_database(folder / "empty", references=1, subjects=1)
    (write_experiment(folder / "trials", distortions=("12",)) / "experiment.json").write_text("{}")
    (folder / "watch").mkdir()
    write_trial(folder / "watch" / "trial.mcap", (None, NOISE))
    write_image(folder / "photos/one.png", image(View.TOP, 1))
    (folder / "stray.mcap").write_bytes(b"cut short")
    _work(Journal(folder / "made"))
    studio = Studio.of([folder])
    studio.part(Connection).judge = judge
    with threaded_studio(studio) as started:
        yield started


def _work(journal: Journal) -> None:
    """What three people have done: a dispute, a rejection, a spot check, a judgement, an undo."""
    opinions = tuple(TaskVerdict(task.text, Verdict.UNCLEAR, "which cube?") for task in TASKS)
    journal.append(WriteTasks("r00000", TASKS), "ben", "test")
    journal.append(Verify("r00000", True, opinions), "cleo", "test")
    journal.append(Reject("r00001", "two robots are in the image"), "ben", "test")
    journal.append(SpotCheck("r00000-12", "r00000/1", "vlm-0", 3), "ben", "test")
    journal.append(JudgeRun("t0", "pick the cube", 0, Outcome.FAILURE, 12.5, "it slipped"), "ben", "test")
    journal.append(Reject("r00002", "dark"), "ben", "test")
    journal.append(Undo(6), "ben", "test")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory, address: str) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.call("Network.setCookie", name=COOKIE, value="anna", url=address)
        yield opened


def _unfold_statistics(browser: Browser) -> None:
    """Load what the pair page loads when it is unfolded."""
    browser.value(
        "new Promise(done => { const place = document.querySelector('details[data-load]');"
        " new MutationObserver(() => done(1)).observe(place, {childList: true}); place.open = true; })"
    )


def test_schemes_change_nothing_but_colours_and_no_colour_follows_the_width() -> None:
    """So axe-core looks at each width in one colour scheme."""
    comment = re.compile(r"/\*.*?\*/", re.DOTALL)
    media = re.compile(r"@media ([^{]+)\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}")
    seen = set()
    for sheet in Path(pages.__file__).parent.rglob("*.css"):
        for condition, rules in media.findall(comment.sub("", sheet.read_text(encoding="utf-8"))):
            seen.add(condition.split(":")[0].strip("( "))
            for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules):
                names = set(re.findall(r"(?:^|;)\s*([\w-]+)\s*:", body))
                if "color-scheme" in condition:
                    assert selector.strip() == ":root"
                    assert all(name.startswith("--") for name in names), sheet
                elif "width" in condition:
                    of_text = {"color"} if selector.strip().endswith("::before") else set()
                    colours = {name for name in names if re.match(r"--|background|color|opacity", name)}
                    assert colours <= of_text, f"{sheet}: {selector}"
    assert seen >= {"prefers-color-scheme", "max-width", "min-width"}


@needs_axe
@pytest.mark.parametrize(
    "look", [*LOOKS, *(pytest.param(look, marks=pytest.mark.stress) for look in OTHER_LOOKS)]
)
def test_axe_finds_no_violation_and_nothing_moves(
    browser: Browser, address: str, look: tuple[int, str]
) -> None:
    """Nor does anything move where motion is unwanted: each page is loaded once for both."""
    found = []
    for page in PAGES:
        browser.size(*look, reduced_motion=True)
        browser.open(address + page)
        assert browser.value(MOVING) == 0, page
        if page == PAIR:
            _unfold_statistics(browser)
        found += [f"{page}: {line}" for line in violations_of_a_look(browser, *look)]
    assert found == []


@needs_axe
@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_no_violation_beside_the_arm(
    browser: Browser, address: str, judge: Judge, mode: str
) -> None:
    judge.now = MODES[mode]
    for look in LOOKS:
        browser.size(*look, reduced_motion=True)
        browser.open(f"{address}/judge")
        assert browser.value(MOVING) == 0
        assert violations_of_a_look(browser, *look) == []


@needs_axe
def test_axe_would_find_violations(browser: Browser, address: str) -> None:
    browser.size(420, "light")
    browser.open(address)
    faults = "<img src='data:,'><input>"
    browser.value(f"document.querySelector('main').insertAdjacentHTML('beforeend', {json.dumps(faults)})")
    browser.value("document.querySelector('h1').style.color = '#aaa'")
    rules = {line.partition(":")[0] for line in axe_violations(browser)}
    assert rules >= {"image-alt", "color-contrast", "label"}


def test_motion_would_be_found(browser: Browser, address: str) -> None:
    """The style sheet itself stops it: a transition, an animation and smooth scrolling."""
    browser.open(address)
    style = (
        "@keyframes turn { to { rotate: 1turn } } h1 { animation: turn 9s infinite; scroll-behavior: smooth }"
        " h2 { transition: color 2s }"
    )
    browser.value(
        f"document.adoptedStyleSheets = [new CSSStyleSheet()],"
        f" document.adoptedStyleSheets[0].replaceSync({json.dumps(style)})"
    )
    for reduced in (True, False):
        browser.size(420, "light", reduced_motion=reduced)
        assert bool(browser.value(MOVING)) is not reduced

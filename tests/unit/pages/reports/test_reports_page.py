"""The page as a browser would read it: structure, content, nothing from outside."""

from __future__ import annotations

import base64
import html.parser
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import cv2
import lxml.html
import numpy as np
import pytest
from report_pages import CONTEXT, article, page_of, reported, with_run, words
from synthetic_trial import BLURRED, NOISY, REFERENCE, T_START, RunPlan, camera, scenery, write_trial

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.trial.run_images import Moment
from embodied_iqa.pages.reports.trial.run_subjects import decision_facts
from embodied_iqa.pages.reports.trial.trial_report import write_report
from embodied_iqa.runs.offline.stored_run import ReportedTask
from embodied_iqa.runs.trial.scores import RECIPES

PLANS = (REFERENCE, BLURRED, NOISY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    write_trial(path / "trial.mcap", PLANS)
    return path


@pytest.fixture(scope="module")
def task(folder: Path) -> ReportedTask:
    return reported(folder / "trial.mcap")


@pytest.fixture(scope="module")
def page(folder: Path, task: ReportedTask) -> lxml.html.HtmlElement:
    return page_of([task], folder)


def _pixels(image: lxml.html.HtmlElement) -> np.ndarray:
    data = base64.b64decode(image.get("src").partition(",")[2], validate=True)
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]


def _gray(rgb: np.ndarray) -> np.ndarray:
    """Luminance as a row of numbers: WebP keeps colour at half resolution only."""
    return cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY).astype(float).ravel()


def test_the_verdict_is_one_sentence(page: lxml.html.HtmlElement) -> None:
    assert words(page.find(".//h1")) == (
        "On undistorted images 1 of 1 task succeeded; under 2 distortions 0 of 2 runs succeeded, "
        "and 1 ended in an emergency stop."
    )


def test_header_says_what_when_and_with_what(page: lxml.html.HtmlElement) -> None:
    head = words(page.xpath("//header[@class='top']")[0])
    assert CONTEXT.run_id in head
    assert "1 task, 3 runs with classical-vlm and classical-vla" in head
    assert "4 March 2026, 12:15 UTC" in head
    assert page.xpath("//time/@datetime") == ["2026-03-04T12:15:30+00:00"]


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        ({"arm_node.robot": "sim", "arm_node.model": "ur5"}, " in the simulated cell"),
        ({"arm_node.robot": "ur5", "arm_node.model": "ur5e<b>"}, " on a real ur5e<b>"),
        ({"arm_node.robot": "none", "arm_node.model": "ur5"}, ""),
        ({}, ""),
    ],
)
def test_header_says_whether_the_cell_was_simulated(
    metadata: dict[str, str], place: str, task: ReportedTask, tmp_path: Path
) -> None:
    record = replace(task.record, metadata=metadata)
    shown = page_of([replace(task, record=record)], tmp_path)
    head = words(shown.xpath("//header[@class='top']")[0])
    assert f"1 task, 3 runs{place} with classical-vlm and classical-vla" in head


def test_summary_has_a_row_a_run_and_headers_for_every_cell(page: lxml.html.HtmlElement) -> None:
    (table,) = page.xpath("//table[contains(@class, 'runs')]")
    columns = table.xpath("./thead/tr/th[@scope='col']")
    rows = table.xpath("./tbody/tr[th/@scope='row']")
    assert len(rows) == len(PLANS)
    for row in rows:
        assert len(row.xpath("./th|./td")) == len(columns)
    texts = [words(row) for row in rows]
    assert "Success 1.00 1.00 100 on: 6 pass, 2 hold, 0 reject; held for 0.1 s 0 of 8" in texts[0]
    assert "Lens blur level 5 Failure" in texts[1]
    assert "2 pass, 4 hold, 2 reject; held for 0.2 s 1 of 9" in texts[1]
    assert "White noise level 3 Emergency stop" in texts[2]


def test_the_numbers_are_those_of_the_scores(page: lxml.html.HtmlElement, task: ReportedTask) -> None:
    for run, scores in enumerate(task.scores):
        shown = [words(item) for item in article(page, run).xpath(".//span[@class='score-number']")]
        assert scores.cognition is not None
        assert scores.decision is not None
        assert shown == [
            f"{scores.cognition.score:.2f}",
            f"{scores.decision.score:.2f}",
            f"{scores.execution.score:.0f}",
        ]


def test_reference_stands_beside_distorted_for_every_view(page: lxml.html.HtmlElement) -> None:
    assert len(article(page, 0).xpath(".//img")) == 2
    captions = [words(item) for item in article(page, 1).xpath(".//div[@class='images']//figcaption")]
    assert captions == ["top reference", "top distorted", "wrist reference", "wrist distorted"]
    assert all(image.get("alt").strip() for image in page.xpath("//img"))


def test_the_images_are_the_recorded_and_the_distorted_ones(page: lxml.html.HtmlElement) -> None:
    raw, distorted = article(page, 1).xpath(".//img")[:2]
    rgb = scenery(View.TOP, 160)
    # the decision frame is the second one of the run
    again = FrameDistorter(BLURRED.spec).apply(rgb, View.TOP, 200_066_666_667)
    assert cv2.PSNR(_pixels(raw), rgb) > 32
    assert cv2.PSNR(_pixels(distorted), again) > 32
    assert cv2.PSNR(_pixels(distorted), rgb) < 28


def test_a_schedule_is_named_and_its_levels_are_on_the_timeline(tmp_path: Path) -> None:
    burst = replace(NOISY, spec=replace(NOISY.spec, schedule="burst:start=0.1,length=0.2"))
    write_trial(tmp_path / "trial.mcap", (REFERENCE, burst))
    page = page_of([reported(tmp_path / "trial.mcap")], tmp_path)
    run = article(page, 1)
    assert "schedule burst:start=0.1,length=0.2,every=0.0" in words(run)
    row = page.xpath("//table[contains(@class, 'scored')]//th[@scope='row']")[1]
    assert words(row).endswith("level 3 burst:start=0.1,length=0.2,every=0.0")
    (strip,) = run.xpath(".//*[@aria-label='Level of the distortion over time']")
    titles = [words(title) for title in strip.xpath(".//title")]
    assert [title.partition(": ")[2] for title in titles] == ["level 0, 2 frames", "level 3, 2 frames"]
    assert "The distortion has level 0 there." in words(run)
    raw, distorted = run.xpath(".//img")[:2]
    assert raw.get("src") == distorted.get("src"), "undistorted at the moment shown"
    assert not article(page, 0).xpath(".//*[@aria-label='Level of the distortion over time']")


def test_noise_is_drawn_again_from_the_frames_stamp(page: lxml.html.HtmlElement) -> None:
    distorted = article(page, 2).xpath(".//img")[1]
    rgb = scenery(View.TOP, 160)
    shown = _gray(_pixels(distorted)) - _gray(rgb)
    right, wrong = (
        _gray(FrameDistorter(NOISY.spec).apply(rgb, View.TOP, 300_066_666_667 + late_ns)) - _gray(rgb)
        for late_ns in (0, 1)
    )
    assert np.corrcoef(shown, right)[0, 1] > 0.95
    assert np.corrcoef(shown, wrong)[0, 1] < 0.2


def test_the_decision_is_drawn_where_the_tool_goes(page: lxml.html.HtmlElement) -> None:
    overlay = article(page, 1).xpath(".//img/following-sibling::*[1]")[1]
    assert [g.get("class") for g in overlay.xpath("./g")] == ["reference", "distorted"]
    intrinsics, T = camera(View.TOP, 160)
    x, y, z = np.linalg.inv(T) @ np.array([*T_START[:3, 3], 1.0]) @ np.eye(4)[:, :3]
    start = intrinsics.fx_px * x / z + intrinsics.cx_px, intrinsics.fy_px * y / z + intrinsics.cy_px
    for path in overlay.xpath(".//polyline[@class='path']"):
        first = tuple(map(float, path.get("points").split()[0].split(",")))
        assert first == pytest.approx(start, abs=0.06)
        assert len(path.get("points").split()) == 5
    targets = overlay.xpath(".//g[@class='target']/circle")
    assert [(float(t.get("cx")), float(t.get("cy"))) for t in targets] == [(60.0, 50.0), (70.0, 66.0)]


def test_targets_are_drawn_only_in_the_view_that_was_aimed_in(page: lxml.html.HtmlElement) -> None:
    top, wrist = article(page, 0).xpath(".//*[@class='overlay']")
    assert len(top.xpath(".//g[@class='target']")) == 1
    assert len(wrist.xpath(".//g[@class='target']")) == 0


def test_differing_words_are_marked(page: lxml.html.HtmlElement) -> None:
    left, right = article(page, 1).xpath(".//blockquote")
    assert words(left) == REFERENCE.answer
    assert words(right) == BLURRED.answer
    assert [words(mark) for mark in left.findall("mark")] == ["cube", "a blue ball."]
    assert [words(mark) for mark in right.findall("mark")] == ["thing", "something."]
    assert not article(page, 0).xpath(".//mark")


def test_gate_strips_show_every_view_and_reason(page: lxml.html.HtmlElement) -> None:
    strips = article(page, 1).xpath(".//*[@class='strip']")
    assert len(strips) == 2
    assert [len(strip.xpath("./g")) for strip in strips] == [3, 3]
    assert "top: too blurred" in words(article(page, 1))


def test_paths_of_both_runs_are_plotted(page: lxml.html.HtmlElement) -> None:
    assert [len(plot.xpath("./g")) for plot in article(page, 0).xpath(".//*[@class='plot']")] == [1, 1]
    assert [len(plot.xpath("./g")) for plot in article(page, 1).xpath(".//*[@class='plot']")] == [2, 2]


def test_recipes_and_origin_are_in_the_footer(page: lxml.html.HtmlElement) -> None:
    foot = words(page.find(".//footer"))
    for recipe in RECIPES.values():
        assert recipe in foot
    for word in (CONTEXT.command_line, CONTEXT.git_hash, "numpy 2.4", "scene 7", "mode: on", "Apache"):
        assert word in foot
    assert "embodied-iqa rescore trial.mcap" in foot
    assert "embodied-iqa studio ." in foot
    assert page.xpath("//details/pre")


def test_nothing_comes_from_outside(folder: Path, page: lxml.html.HtmlElement) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert not page.xpath("//script|//link[@rel!='icon']|//iframe|//object|//base|//form")
    assert not page.xpath("//@*[starts-with(name(), 'on')]")
    for reference in page.xpath("//@src|//@href|//@srcset|//@poster|//@data"):
        assert reference.startswith(("data:", "#")), reference
    assert not re.search(r"url\((?!#)|@import|https?://", text)
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'")


def test_every_link_leads_somewhere(page: lxml.html.HtmlElement) -> None:
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.xpath("//@href") if link.startswith("#")} <= set(ids)
    assert set(page.xpath("//@aria-labelledby")) <= set(ids)


class _Balance(html.parser.HTMLParser):
    """Every opened element is closed, in order."""

    VOID = frozenset({"meta", "link", "img", "br", "hr", "rect", "line", "path", "circle", "polyline", "use"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"line {self.getpos()}"


def test_elements_are_balanced(folder: Path, page: lxml.html.HtmlElement) -> None:
    parser = _Balance()
    parser.feed((folder / "report.html").read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []


def test_headings_follow_each_other(page: lxml.html.HtmlElement) -> None:
    levels = [int(item.tag[1]) for item in page.xpath("//h1|//h2|//h3|//h4|//h5")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.get("lang") == "en"


def test_twelve_noisy_runs_stay_small(tmp_path: Path) -> None:
    noisy = [RunPlan(DistortionSpec(number, 5)) for number in ("12", "13", "14")]
    views = (View.TOP, View.WRIST, View.SIDE)
    path = write_trial(tmp_path / "trial.mcap", [REFERENCE, *noisy], width_px=480, views=views)
    page = page_of([reported(path)] * 3, tmp_path)
    assert len(page.xpath("//img")) == 3 * (1 + 3 * 2) * 3
    assert (tmp_path / "report.html").stat().st_size < 6_000_000
    assert min(_pixels(image).shape[1] for image in page.xpath("//img")[:21]) >= 256


def test_written_whole_or_not_at_all(
    tmp_path: Path, task: ReportedTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "deep" / "report.html"
    write_report([task], out, CONTEXT)
    before = out.read_bytes()
    monkeypatch.setattr(Path, "write_text", lambda self, *_a, **_k: (self.touch(), _full())[0])
    with pytest.raises(InputError, match=r"cannot write .*No space left"):
        write_report([task], out, CONTEXT)
    assert out.read_bytes() == before
    assert [item.name for item in out.parent.iterdir()] == ["report.html"]


def _full() -> None:
    raise OSError(28, "No space left on device")


def test_the_same_run_gives_the_same_page(tmp_path: Path, task: ReportedTask) -> None:
    pages = []
    for name in ("a.html", "b.html"):
        write_report([task], tmp_path / name, CONTEXT)
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_scores_and_runs_have_to_match(folder: Path, task: ReportedTask) -> None:
    with pytest.raises(UsageError, match="expected 3 scores; got 2"):
        ReportedTask(read_trial(folder / "trial.mcap"), task.scores[:2], folder / "trial.mcap")


def test_images_of_a_camera_that_is_not_distorted_have_level_0(tmp_path: Path) -> None:
    of_top = replace(NOISY, spec=replace(NOISY.spec, schedule="burst:start=0,length=9,view=top"))
    write_trial(tmp_path / "trial.mcap", (REFERENCE, of_top))
    run = article(page_of([reported(tmp_path / "trial.mcap")], tmp_path), 1)
    _, top, raw, wrist = run.xpath(".//img")
    assert "level 3 image of the top camera" in top.get("alt")
    assert "level 0 image of the wrist camera" in wrist.get("alt")
    assert raw.get("src") == wrist.get("src")


def test_a_decision_in_joints_says_by_how_many_degrees_each_turns(folder: Path) -> None:
    plain = read_trial(folder / "trial.mcap").runs[0].chunks[0]
    q_rad = np.arange(6.0)
    turns_deg = np.array([[9.0] * 6, [1.0, -2.04, 0.0, 0.0, -0.04, 90.0]])
    turned = replace(plain, q_rad=q_rad, joints_rad=q_rad + np.radians(turns_deg))
    facts = {
        fact.name: (fact.reference, fact.distorted) for fact in decision_facts(Moment(5, "", plain, turned))
    }
    assert facts["Joints turn by"] == ("\N{EM DASH}", "1.0, \N{MINUS SIGN}2.0, 0.0, 0.0, 0.0, 90.0°")


@pytest.mark.parametrize(
    ("turn_deg", "shown"),
    [(0.0, "0°"), (0.05, "0.050°"), (0.06, "0.060°"), (3.21, "3.2°"), (45.4, "45°")],
)
def test_a_small_turn_has_the_digits_that_decide_whether_it_has_a_direction(
    folder: Path, turn_deg: float, shown: str
) -> None:
    chunk = read_trial(folder / "trial.mcap").runs[0].chunks[0]
    increments = np.zeros((1, 7))
    increments[0, 5] = np.radians(turn_deg)
    facts = decision_facts(Moment(5, "", replace(chunk, increments=increments), None))
    assert {fact.name: fact.reference for fact in facts}["Turns by"] == shown


def test_a_rotation_of_one_half_says_that_one_of_the_two_hardly_turns(folder: Path, tmp_path: Path) -> None:
    record = read_trial(folder / "trial.mcap")
    run = record.runs[1]
    raw, distorted = run.decisions()[0]
    note = (
        "rotation 0.50 (one of the two turns by less than 0.06°, which has no direction: this costs 0.17 of"
    )
    summary = "In 1 of the runs one of the two scored actions turns by less than 0.06°"
    for turn_rad, said in ((0.5, True), (0.0005, False)):
        increments = distorted.increments.copy()
        increments[0, 5] = turn_rad
        turned = replace(distorted, increments=increments)
        chunks = tuple(turned if chunk is distorted else chunk for chunk in run.chunks)
        changed = with_run(record, 1, chunks=chunks)
        page = page_of([reported(folder / "trial.mcap", changed)], tmp_path)
        shown = words(article(page, 1))
        assert (note in shown) is said
        assert ("has no direction" in shown) is said
        assert (summary in words(page)) is said
    assert not raw.increments[:, 3:6].any(), "the reference does not turn"

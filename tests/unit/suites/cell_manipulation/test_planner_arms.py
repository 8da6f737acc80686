"""Arms of a run: what each gate does with an image that its judge rejects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.pages.reports.manipulation.chapters import distortion_chapter
from embodied_iqa.pages.reports.manipulation.study import PlannerStudy, arm_title
from embodied_iqa.quality.gate.judgement import ImageJudge, Judgement
from embodied_iqa.quality.gate.repair import RepairOptions
from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.environment import Observation, SeenObject
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.suites.cell_manipulation.planning import arms
from embodied_iqa.suites.cell_manipulation.planning.arms import Arm, ArmCamera, arms_of
from embodied_iqa.suites.cell_manipulation.planning.planner_options import GateArm, PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.transcript import Ending, Transcript

Image = NDArray[np.uint8]
RGB = np.random.default_rng(5).integers(60, 200, (48, 48, 3), np.uint8)
SEEN = (SeenObject((50, 30, 17), "red cube", 0, (-0.5, 0.2, 0.02)),)
NOISE = parse_distortion("12:5")
PROMPT = PromptOptions(shots=0, boxes=False)


def state(step: int = 0) -> Observation:
    return Observation("pick", SEEN, image_frame(RGB, View.TOP), None, GridAction(50, 50, 30), step)


class Strict:
    """Passes the image with a given number, counted from 1; none with 0."""

    def __init__(self, passes: int = 0) -> None:
        self.passes = passes
        self.seen: list[Image] = []

    def judge(self, view: View, rgb: Image | None) -> Judgement:
        assert view == View.TOP
        assert rgb is not None
        self.seen.append(rgb)
        is_good = len(self.seen) == self.passes
        return Judgement(Verdict.PASS if is_good else Verdict.REJECT, "" if is_good else "noisy")


def camera(gate: GateArm, judge: ImageJudge | None) -> ArmCamera:
    return ArmCamera(Arm(NOISE, gate), PROMPT, judge)


def test_without_a_gate_every_image_is_delivered() -> None:
    look = camera(GateArm.OFF, None)(state())
    assert look.sighting is not None
    assert look.sighting.front is not None
    assert (look.sighting.front.rgb != RGB).any()


def test_hold_takes_one_image_and_gives_the_reason() -> None:
    look = camera(GateArm.HOLD, Strict())(state())
    assert (look.sighting, look.images, look.reason) == (None, 1, "noisy")


@pytest.mark.parametrize(("passes", "images"), [(1, 1), (3, 3), (4, 3)])
def test_ask_again_takes_up_to_three_images_and_delivers_the_one_that_passes(
    passes: int, images: int
) -> None:
    judge = Strict(passes)
    look = camera(GateArm.RETAKE, judge)(state())
    assert look.images == images
    if passes > 3:
        assert look.sighting is None
    else:
        assert look.sighting is not None
        assert look.sighting.front is not None
        np.testing.assert_array_equal(look.sighting.front.rgb, judge.seen[-1])


def test_every_image_has_noise_of_its_own_also_where_nothing_moved() -> None:
    judge, held = Strict(), state()
    looks = camera(GateArm.RETAKE, judge)
    looks(held)
    looks(held)
    assert len({image.tobytes() for image in judge.seen}) == 6
    again = Strict()
    looks = camera(GateArm.RETAKE, again)
    looks(state(3))
    looks(state())
    np.testing.assert_array_equal(again.seen[3:], judge.seen[:3])


def test_repair_delivers_the_repaired_image_only_if_it_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    grey = np.full_like(RGB, 128)

    def repaired(
        judge: ImageJudge, _view: View, _rgb: Image, received: Judgement, options: RepairOptions
    ) -> Judgement:
        assert options.enabled
        assert isinstance(judge, Strict)
        return Judgement(Verdict.PASS, "repaired", repaired=grey) if judge.passes else received

    monkeypatch.setattr(arms, "judge_repaired", repaired)
    look = camera(GateArm.REPAIR, Strict(9))(state())
    assert look.sighting is not None
    assert look.sighting.front is not None
    assert look.sighting.front.rgb is grey
    assert look.sighting.objects == (SEEN[0].bins,)
    assert camera(GateArm.REPAIR, Strict())(state()).sighting is None


@pytest.mark.parametrize(
    ("spec", "gate", "title"),
    [
        ("12:5", GateArm.OFF, "White noise, level 5"),
        ("12:5", GateArm.RETAKE, "White noise, level 5, gate ask-again"),
        ("miqd:motion-blur:3", GateArm.OFF, "Motion blur, level 3"),
    ],
)
def test_an_arm_has_a_title_of_its_distortion(spec: str, gate: GateArm, title: str) -> None:
    assert title.lower() in arm_title(Arm(parse_distortion(spec), gate).name).lower()


def test_levels_of_a_distortion_are_found_by_its_whole_name(tmp_path: Path) -> None:
    episode = Episode(Subset.BASE, CellTask.PLACE, 0, 1, 0, "pick", (Goal(CellTask.PLACE, "a", "b"),))
    names = ("clean", "clean+hold", "12-5", "12-5+ask-again", "miqd:motion-blur-3")
    found = tuple(Transcript(episode, "p", "1", name, (), Ending.STEPS, ("",), 1.0) for name in names)
    study = PlannerStudy(tmp_path, "", found, ())
    assert study.levels == {"12": {5: "12-5"}, "miqd:motion-blur": {3: "miqd:motion-blur-3"}}


def test_no_arm_is_run_twice() -> None:
    found = arms_of([NOISE, NOISE], [GateArm.HOLD, GateArm.OFF, GateArm.HOLD])
    assert [one.name for one in found] == ["clean", "clean+hold", "12-5", "12-5+hold"]


def test_the_lead_counts_what_is_certain_for_all_distortions_together(tmp_path: Path) -> None:
    def run(index: int, arm: str, ending: Ending) -> Transcript:
        goal = Goal(CellTask.PLACE, "a", "b")
        episode = Episode(Subset.BASE, CellTask.PLACE, index, 1, index, "pick", (goal,))
        return Transcript(episode, "p", "1", arm, (), ending, ("",), 1.0)

    lost = {"clean": 0, "07-5": 12, "12-5": 6}  # exact p of McNemar's test: 0.0005 and 0.0313
    found = [
        run(index, arm, Ending.STEPS if index < lost[arm] else Ending.SUCCESS)
        for arm in lost
        for index in range(12)
    ]
    chapter = distortion_chapter(PlannerStudy(tmp_path, "", tuple(found), ()))
    assert chapter is not None
    assert chapter.lead.endswith(
        "excludes zero downwards for 2 of 2 distortions, each by itself; "
        "p is below 0.05 / 2 for 1 of them (Bonferroni)."
    )

"""Vision models as detectors of the object list: geometry, colours, names, choice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.distortions import FrameDistorter, parse_distortion
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.backends.classical.shapes import Pinhole
from embodied_iqa.models.subjects.reference import parse_planner
from embodied_iqa.models.subjects.subject_options import VlmRequest
from embodied_iqa.models.vision.model import VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
from embodied_iqa.suites.cell_manipulation.actions import position_bins
from embodied_iqa.suites.cell_manipulation.environment import Environment, Observation
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes, write_episodes
from embodied_iqa.suites.cell_manipulation.planning.box_detector import BoxDetector, place_of_box
from embodied_iqa.suites.cell_manipulation.planning.detecting import detect_classically, load_detector
from embodied_iqa.suites.cell_manipulation.planning.detection_error import ListError, list_error
from embodied_iqa.suites.cell_manipulation.planning.offline import Inside
from embodied_iqa.suites.cell_manipulation.planning.planner_options import Coordinates, PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.prompt import Scenery, messages_for
from embodied_iqa.suites.cell_manipulation.planning.recognising import make_detecting
from embodied_iqa.suites.cell_manipulation.planning.seeing import see
from embodied_iqa.world.tasks.vocabulary import Kind

PANEL = "panel:det-residual-192"
_PROMPT = PromptOptions(shots=0, coordinates=Coordinates.DETECTOR, detector=PANEL)
_CLEAN = FrameDistorter(None)
_MOST_OFF_M = 0.012
"""A true box holds only what is visible, and a square object is wider than its cylinder."""


@pytest.fixture(scope="module")
def placing() -> Iterator[Inside]:
    episode = next(make_episodes((Subset.BASE,), 1))
    with Environment() as environment:
        observation = environment.reset(episode)
        yield Inside(environment, episode, observation, observation.front, 0)


def image(observation: Observation) -> Frame:
    assert observation.front is not None
    return observation.front


class Boxes:
    """Predicts the given boxes, as the widths of an image of 500 px in one of 667 px."""

    def __init__(self, labels: Sequence[str], boxes: Sequence[Sequence[float]], score: float = 0.9) -> None:
        self.info = VisionModelInfo("boxes", VisionTask.DETECTION, "1", (*map(str, Kind), "cat"))
        shift = np.array([83.0, 0.0, 83.0, 0.0])
        self.found = Instances(tuple(labels), np.full(len(labels), score), np.array(boxes) + shift)
        self.shapes: list[tuple[int, ...]] = []

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        self.shapes += [one.shape for one in images]
        return [self.found]


def test_a_true_box_gives_the_true_place_kind_and_colour(placing: Inside) -> None:
    boxes = placing.environment.boxes_px(View.TOP)
    truth = {item.name: item.position_m for item in placing.observation.objects}
    model = Boxes([name.split()[1] for name in boxes], list(boxes.values()))
    found = BoxDetector(model)(image(placing.observation))
    assert model.shapes == [(500, 666, 3)]
    assert [f"{item.colour} {item.kind}" for item in found.objects] == list(boxes)
    for name, item in zip(boxes, found.objects, strict=True):
        assert np.hypot(*np.subtract(item.position_m[:2], truth[name][:2])) < _MOST_OFF_M, name
        assert found.place_of(name) == item.position_m[:2]
        assert abs(item.position_m[2] - truth[name][2]) < 0.012, name
    assert found.place_of("horizontal area") is None


def test_other_classes_low_scores_and_boxes_above_the_horizon_are_left_out(placing: Inside) -> None:
    frame = image(placing.observation)
    box = placing.environment.boxes_px(View.TOP)
    first = next(iter(box.values()))
    assert BoxDetector(Boxes(["cat"], [first]))(frame).objects == ()
    assert BoxDetector(Boxes(["cube"], [first], score=0.2))(frame).objects == ()
    level = replace(frame, T_base_camera=np.eye(4))  # a camera below the table that looks up
    assert place_of_box(Kind.CUBE, np.array(first, np.float64), Pinhole(level)) is None


def test_a_box_without_colour_has_none(placing: Inside) -> None:
    frame = image(placing.observation)
    grey = replace(frame, rgb=np.full_like(frame.rgb, 128))
    (item,) = BoxDetector(Boxes(["cube"], [(240.0, 240.0, 270.0, 270.0)]))(grey).objects
    assert item.colour is None


def test_a_member_of_the_panel_sees_every_object_until_the_image_is_bad(placing: Inside) -> None:
    sighting = see(placing.observation, _PROMPT, _CLEAN)
    truth = [item.bins for item in placing.observation.objects]
    found = sighting.objects or ()
    assert len(found) == len(truth)
    for wanted in truth:
        assert min(max(abs(a - b) for a, b in zip(one[:2], wanted[:2], strict=True)) for one in found) <= 2
    blurred = see(placing.observation, _PROMPT, FrameDistorter(parse_distortion("1:5"))).objects
    assert blurred != found


def test_who_recognises_by_the_lists_detector_plans_there_and_needs_one(placing: Inside) -> None:
    planner = make_detecting(VlmRequest(parse_planner("planner-detector")))
    sighting = see(placing.observation, _PROMPT, _CLEAN)
    messages = messages_for(Scenery("", sighting.objects, (), (), ()), (), _PROMPT)
    planner.enter(replace(placing, detections=sighting.detections))
    plan, expert = planner.actions(messages), placing.environment.expert_plan()
    assert [action.numbers[2:] for action in plan] == [action.numbers[2:] for action in expert]
    assert all(
        abs(one.x - two.x) <= 2 and abs(one.y - two.y) <= 2 for one, two in zip(plan, expert, strict=True)
    )
    planner.enter(placing)
    with pytest.raises(UsageError, match="--coordinates detector"):
        planner.actions(messages)


def test_the_classical_detector_is_the_default(placing: Inside) -> None:
    options = PromptOptions(shots=0, coordinates=Coordinates.DETECTOR)
    places = detect_classically(image(placing.observation)).positions_m()
    wanted = tuple(position_bins(one) for one in sorted(places, key=lambda one: -one[1]))
    assert see(placing.observation, options, _CLEAN).objects == wanted


class Classifier:
    """Predicts a class where boxes are expected."""

    info = VisionModelInfo("wrong", VisionTask.DETECTION, "1", ("cube",))

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        return [Classification("cube") for _ in images]


def test_a_model_without_boxes_is_a_defect(placing: Inside) -> None:
    with pytest.raises(InternalError, match="predicts no boxes"):
        BoxDetector(Classifier())(image(placing.observation))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("panel", "not one detector or segmenter"),
        ("panel:cls-vit-64", "not one detector or segmenter"),
        ("panel:none", "no such model"),
        ("classic", "not a vision model"),
    ],
)
def test_a_wrong_detector_is_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_detector(name)


def test_a_model_that_knows_no_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "from test_planner_detectors import Cats\n\n\ndef make():\n    return Cats()\n"
    (tmp_path / "own_cats.py").write_text(lines)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with pytest.raises(UsageError, match="knows no kind of object"):
        load_detector("python:own_cats:make")


class Cats(Boxes):
    """Knows only cats."""

    def __init__(self) -> None:
        super().__init__([], np.zeros((0, 4)))
        self.info = replace(self.info, classes=("cat",))


def test_a_run_keeps_its_detector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    episode: Episode = next(one for one in make_episodes((Subset.BASE,), 1) if one.task is CellTask.PLACE)
    write_episodes(tmp_path / "ep", [episode])
    command = [
        "evaluate",
        "manipulation",
        str(tmp_path / "ep"),
        "--planner",
        "planner-detector",
        "--shots",
        "0",
    ]
    out = ["--out", str(tmp_path / "run"), "--coordinates", "detector"]
    assert main([*command, *out, "--detector", PANEL]) == 0
    assert "100.0%" in capsys.readouterr().out
    assert main([*command, *out]) == 2
    assert "another plan" in capsys.readouterr().err
    assert main([*command, "--out", str(tmp_path / "new"), "--detector", PANEL]) == 2
    assert "--coordinates detector" in capsys.readouterr().err


def test_the_error_of_a_list_is_that_of_the_nearest_entry() -> None:
    truth = {"red cube": (50, 30, 17), "blue bowl": (60, 60, 16), "horizontal area": (40, 50, 15)}
    found = list_error(truth, [(51, 28, 17), (60, 63, 16), (5, 5, 5)])
    assert (found.kinds, found.off_bins, found.false) == (("cube", "bowl", "area"), (2.0, 3.0, 20.0), 2)
    assert list_error(truth, []) == ListError(found.kinds, (np.inf,) * 3, 0)


def test_the_error_of_a_detector_is_printed_by_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_episodes(tmp_path, [next(make_episodes((Subset.BASE,), 1))])
    command = ["manipulate", "detect", str(tmp_path), "--detector", PANEL]
    assert main([*command, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    total = shown["things"][-1]
    assert (shown["images"], shown["false"], total["kind"], total["near"]) == (1, 0, "all", 1.0)
    assert main([*command, "--distortion", "7:5"]) == 0
    assert "1 images; " in capsys.readouterr().out
    assert main([*command, "--stride", "0"]) == 2

"""The learned gate of planners: labelled images, fit, and the check of a gate's camera."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import read_image, write_image
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.reference import parse_planner
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.fitting import split
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name
from embodied_iqa.suites.cell_manipulation.environment import Environment
from embodied_iqa.suites.cell_manipulation.episodes import Episode, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes, write_episodes
from embodied_iqa.suites.cell_manipulation.planning import gate_images
from embodied_iqa.suites.cell_manipulation.planning.arms import Arm
from embodied_iqa.suites.cell_manipulation.planning.gate_images import (
    LabelOptions,
    PlannerImages,
    PlannerSource,
    StoredImage,
    StoredImages,
    WantedThing,
    distorted,
    lost,
    off_bins,
    store_images,
)
from embodied_iqa.suites.cell_manipulation.planning.planner_options import GateArm
from embodied_iqa.suites.cell_manipulation.planning.runner import RunPlan, check_gate
from gate_files import write_gate

_INF = float("inf")


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return list(make_episodes((Subset.BASE,), 2))[:3]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, episodes: list[Episode]) -> tuple[Path, StoredImages]:
    folder = tmp_path_factory.mktemp("gate") / "images"
    return folder, store_images(episodes[:2], folder)


class Places:
    """Detections at given places."""

    def __init__(self, **places: tuple[float, float]) -> None:
        self.places = places

    def positions_m(self) -> list[tuple[float, float, float]]:
        return []

    def place_of(self, name: str) -> tuple[float, float] | None:
        return self.places.get(name)


def test_a_thing_is_off_by_the_bins_of_the_longer_axis() -> None:
    thing = WantedThing("ball", (-0.502, 0.103, 0.02))
    assert off_bins(thing, Places(ball=(-0.502, 0.103))) == 0
    assert off_bins(thing, Places(ball=(-0.512, 0.133))) == 3
    assert off_bins(thing, Places()) == _INF


@pytest.mark.parametrize(
    ("off", "loss", "wrong"),
    [
        ([], 0.0, 0.0),
        ([0.0, 2.0], 0.0, 0.0),
        ([0.0, 3.0], 0.5, 0.5),
        ([9.0, _INF], 1.0, 0.0),
        ([0.0, _INF], 0.5, 0.0),
    ],
)
def test_what_is_not_recognised_is_lost_and_moves_nothing(
    off: list[float], loss: float, wrong: float
) -> None:
    assert lost(off) == (loss, wrong)


def test_images_are_of_the_beginning_and_of_a_later_state_and_are_read_again(
    stored: tuple[Path, StoredImages], episodes: list[Episode]
) -> None:
    folder, images = stored
    assert [one.name for one in images.images] == ["base-000-0", "base-000-1", "base-001-0", "base-001-2"]
    first = read_image(folder / "base-000-0.png")
    with Environment() as environment:
        seen = environment.reset(episodes[0]).front
        assert seen is not None
        np.testing.assert_array_equal(first, seen.rgb)
        assert {thing.name for thing in images.images[0].things} == {
            name for goal in episodes[0].goals for name in (goal.target, goal.destination)
        }
    assert store_images(episodes[:2], folder) == images
    with pytest.raises(InputError, match="other episodes"):
        store_images(episodes[:3], folder)


def test_an_image_set_distorts_by_name(stored: tuple[Path, StoredImages]) -> None:
    images = PlannerImages(stored[0])
    clean, noisy = images.read(["base-000-0", "base-000-0|12:3"])
    assert clean.context.view == View.TOP
    np.testing.assert_array_equal(noisy.distorted, distorted(clean.distorted, "base-000-0", "12:3"))
    assert (noisy.distorted != clean.distorted).any()
    assert images.digest(["base-000-0"]) != images.digest(["base-000-0|12:3"])


def test_clean_images_lose_nothing_and_dark_ones_lose_things(stored: tuple[Path, StoredImages]) -> None:
    folder, images = stored
    some = StoredImages(images.images[1:3])  # of both episodes: to detect takes most of this file's time
    frames = PlannerSource(folder, some, LabelOptions("classical", 30)).frames
    assert frames.clean.sum() == 2
    assert len(frames) == 2 * 31
    assert not frames.decision[frames.clean].any()
    severe = np.array([kind.startswith(("07", "19")) and kind[-1] in "45" for kind in frames.kinds.tolist()])
    assert frames.decision[severe].mean() > frames.decision[~severe].mean()
    assert (frames.wrong_motion_loss <= frames.decision).all()


def plan(file: Path, judge: str, size_px: int) -> RunPlan:
    arms = (Arm(gate=GateArm.HOLD),)
    return RunPlan(parse_planner("planner-blind"), arms, size_px=size_px, judge=judge, gate_file=file)


@pytest.mark.parametrize("judge", ["statistics", "learned", "metric:brisque"])
def test_a_gate_of_another_camera_is_refused_in_one_line(tmp_path: Path, judge: str) -> None:
    with pytest.raises(
        InputError, match=f"no gate by {judge} in .*; expected the front camera .* at 500x500"
    ):
        check_gate(plan(write_gate(tmp_path), judge, 500))


def test_wrong_options_of_a_fit_are_refused(tmp_path: Path, episodes: list[Episode]) -> None:
    write_episodes(tmp_path / "ep", episodes)
    command = ["manipulate", "fit", str(tmp_path / "ep"), "--out", str(tmp_path / "gate.yaml")]
    assert main([*command, "--distortions-each", "31"]) == 2
    assert main([*command, "--stride", "0"]) == 2
    assert main(command) == 1
    assert not (tmp_path / "gate").exists()


class ByBrightness:
    """Recognises the thing only in a bright image."""

    def __call__(self, frame: Frame) -> Places:
        return Places(ball=(-0.5, 0.1)) if frame.rgb.mean() > 100 else Places()


@pytest.fixture
def blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, StoredImages]:
    """Small made images, few scenes and epochs, and a cache of its own."""
    recipe = "embodied_iqa.quality.gate.fitting.networks.recipe_by_name"
    monkeypatch.setattr(recipe, lambda name: replace(recipe_by_name(name), epochs=12))
    monkeypatch.setattr(split, "_FEWEST_TRAINING", 8)
    monkeypatch.setattr(split, "_FEWEST_CHECKED", 2)
    monkeypatch.setattr(gate_images, "load_detector", lambda _: ByBrightness())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, camera = tmp_path / "gate" / "images", Intrinsics(96, 96, 90.0, 90.0, 47.5, 47.5)
    pose, thing = tuple(tuple(row) for row in np.eye(4).tolist()), WantedThing("ball", (-0.5, 0.1, 0.02))
    names, made = [f"base-{number:03d}" for number in range(16)], []
    folder.mkdir(parents=True)
    for number, name in enumerate(names):
        rng = np.random.default_rng(number)
        rgb = rng.integers(90, 190, (12, 12, 3)).repeat(8, axis=0).repeat(8, axis=1).astype(np.uint8)
        for step in range(3):
            write_image(folder / f"{name}-{step}.png", rgb - step)
            made.append(StoredImage(f"{name}-{step}", name, (thing,), camera, pose))
    return folder, StoredImages(tuple(made))


def test_a_fitted_gate_holds_what_the_detector_cannot_use(
    blobs: tuple[Path, StoredImages],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, stored = blobs
    monkeypatch.setattr(gate_images, "store_images", lambda _episodes, _folder: stored)
    write_episodes(tmp_path / "ep", list(make_episodes((Subset.BASE,), 2))[:16])
    out = tmp_path / "gate.yaml"
    command = ["manipulate", "fit", str(tmp_path / "ep"), "--out", str(out), "--risk", "0.2"]
    capsys.readouterr()
    assert main([*command, "--distortions-each", "2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["view"], shown["width_px"], shown["policy"]) == (
        "top",
        96,
        "a planner that recognises by classical",
    )
    assert "episodes of cell-manipulation" in shown["promise"]
    assert load_gate_file(out).fitted[0].second is None
    check_gate(plan(out, "learned", 96))
    judge = load_judge(parse_judge("learned"), out)
    clean = read_image(folder / "base-000-0.png")
    assert judge.judge(View.TOP, clean).verdict is Verdict.PASS
    assert judge.judge(View.TOP, clean // 8).verdict is not Verdict.PASS

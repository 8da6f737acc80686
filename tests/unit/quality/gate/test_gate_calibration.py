"""Bounds learnt from clean frames: few false alarms, honest files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions import distort
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration, Margins, calibrate
from embodied_iqa.quality.gate.calibration_file import (
    GateFile,
    load_calibrations,
    load_gate_file,
    save_calibrations,
    stays_in,
)
from embodied_iqa.quality.gate.image_statistics import STATISTICS_VERSION, ImageStatistics, Statistic
from embodied_iqa.quality.gate.statistics_judge import judge_image
from embodied_iqa.quality.gate.tolerance import Tolerance, disturbed
from gate_files import write_gate


def clean_frames(count: int, seed: int = 0) -> list[ImageStatistics]:
    """Statistics that scatter as those of a moving robot do: some evenly, some with a long tail."""
    generator = np.random.default_rng(seed)
    return [
        ImageStatistics(
            width_px=640,
            height_px=480,
            sharpness=generator.lognormal(4, 0.3),
            exposure=generator.normal(0.45, 0.03),
            clipped_dark=generator.exponential(0.002),
            clipped_bright=0.0,
            contrast=generator.uniform(0.15, 0.2),
            noise=generator.gamma(4, 0.1),
            blockiness=generator.normal(1, 0.01),
            detail=generator.lognormal(-1, 0.1),
            specks=generator.exponential(0.0002),
            tones=generator.uniform(0.8, 0.9),
            repeated=0.0,
            flat=generator.beta(2, 8),
            chroma=generator.uniform(20, 35),
            chroma_detail=generator.lognormal(-2, 0.2),
            vividness=generator.uniform(90, 150),
        )
        for _ in range(count)
    ]


CALIBRATION = calibrate(View.TOP, clean_frames(400), "synthetic, seed 0")


def test_fresh_clean_frames_rarely_trip() -> None:
    frames = clean_frames(2000, seed=1)
    alarms = [
        any(CALIBRATION.bounds[s].judge(frame.value(s)) is not Verdict.PASS for s in Statistic)
        for frame in frames
    ]
    assert np.mean(alarms) < 0.03
    severe = [
        any(CALIBRATION.bounds[s].judge(frame.value(s)) is Verdict.REJECT for s in Statistic)
        for frame in frames
    ]
    assert np.mean(severe) < 0.002


def test_a_few_bad_frames_among_the_clean_ones_hardly_move_the_bounds() -> None:
    black = ImageStatistics(640, 480, *([0.0] * len(Statistic)))
    spoilt = calibrate(View.TOP, [*clean_frames(400), *[black] * 8], "eight black frames")
    for statistic in Statistic:
        usual, loose = CALIBRATION.bounds[statistic], spoilt.bounds[statistic]
        if usual.judge(0.0) is not Verdict.PASS:
            assert loose.judge(0.0) is not Verdict.PASS
        if math.isfinite(usual.soft_high):
            assert usual.soft_high == pytest.approx(loose.soft_high, rel=0.05)


def test_sides_that_are_no_fault_are_open() -> None:
    open_below = {s.value for s in Statistic if math.isinf(CALIBRATION.bounds[s].hard_low)}
    open_above = {s.value for s in Statistic if math.isinf(CALIBRATION.bounds[s].hard_high)}
    assert open_below == {"clipped_bright", "clipped_dark", "flat", "repeated", "specks"}
    assert open_above == {"tones"}


def test_identical_frames_still_leave_room() -> None:
    bounds = calibrate(View.TOP, clean_frames(1) * 20, "one frame").bounds
    for statistic in Statistic:
        value = clean_frames(1)[0].value(statistic)
        assert bounds[statistic].soft_low < value < bounds[statistic].soft_high


@given(
    st.lists(st.floats(0, 1e4), min_size=40, max_size=60),
    st.sampled_from(Statistic),
    st.tuples(st.floats(1.01, 3), st.floats(0.01, 5)),
)
@settings(max_examples=100, deadline=None)
def test_bounds_enclose_all_but_the_outermost_tenth_on_either_side(
    values: list[float], statistic: Statistic, margins: tuple[float, float]
) -> None:
    usual = {name.value: 0.5 for name in Statistic}
    frames = [ImageStatistics(64, 64, **{**usual, statistic.value: value}) for value in values]
    margin = Margins(margins[0], margins[0] + margins[1])
    bounds = calibrate(View.TOP, frames, "any", margin).bounds[statistic]
    tenth = math.ceil(0.1 * (len(values) - 1))  # further out, frames may be bad ones: these do not widen it
    assert {bounds.judge(value) for value in sorted(values)[tenth:-tenth]} == {Verdict.PASS}


@given(st.floats(), st.tuples(*[st.floats(0, 100)] * 4).map(sorted))
def test_severity_grows_with_distance(value: float, sides: list[float]) -> None:
    bounds = Bounds(*sides)
    verdict = bounds.judge(value)
    if sides[1] <= value <= sides[2]:
        assert verdict is Verdict.PASS
    elif sides[0] <= value <= sides[3]:
        assert verdict is Verdict.HOLD
    else:
        assert verdict is Verdict.REJECT
    assert bool(bounds.explain(Statistic.SHARPNESS, value)) == (verdict is not Verdict.PASS)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.2, "blockiness 1.20 above 1.09: blocky"),
        (1.0932, "blockiness 1.093 above 1.091: blocky"),
        (math.nextafter(1.091, 2), "blockiness 1.0910000000000002 above 1.091: blocky"),
    ],
)
def test_a_reason_has_the_digits_that_tell_value_and_bound_apart(value: float, words: str) -> None:
    assert Bounds(0, 0, 1.091, 2).explain(Statistic.BLOCKINESS, value) == words


@pytest.mark.parametrize("sides", [(1, 0, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2), (math.nan, 0, 1, 2)])
def test_bounds_out_of_order_are_refused(sides: tuple[float, float, float, float]) -> None:
    with pytest.raises(InputError, match="hard_low"):
        Bounds(*sides)


@pytest.mark.parametrize("margins", [(1.0, 2.0), (2.0, 2.0), (2.0, math.inf)])
def test_margins_out_of_order_are_refused(margins: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="1 < soft < hard"):
        Margins(*margins)


def test_too_few_frames_are_refused() -> None:
    with pytest.raises(InputError, match="at least 20"):
        calibrate(View.TOP, clean_frames(19), "")


def test_frames_of_two_sizes_are_refused() -> None:
    small = ImageStatistics(320, 240, *([1.0] * len(Statistic)))
    with pytest.raises(InputError, match="320x240, 640x480"):
        calibrate(View.TOP, [*clean_frames(30), small], "")


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    side = calibrate(View.SIDE, clean_frames(50, seed=3), "gr\u00fcn: 'quoted' # not a comment")
    path = tmp_path / "gate" / "cameras.yaml"
    save_calibrations([CALIBRATION, side], path)
    once = load_calibrations(path)
    save_calibrations(once, path)
    assert load_calibrations(path) == once
    for saved, loaded in zip([CALIBRATION, side], once, strict=True):
        assert (loaded.view, loaded.n_frames, loaded.provenance) == (
            saved.view,
            saved.n_frames,
            saved.provenance,
        )
        for statistic in Statistic:
            for bound in ("hard_low", "soft_low", "soft_high", "hard_high"):
                expected = getattr(saved.bounds[statistic], bound)
                assert getattr(loaded.bounds[statistic], bound) == pytest.approx(expected, rel=1e-5)
    assert [entry.name for entry in path.parent.iterdir()] == ["cameras.yaml"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 9}, "calibrate"),
        ({"statistics_version": "0"}, "calibrate"),
        ({"cameras": []}, "lists no cameras"),
        ({"cameras": [{"view": "top"}]}, "wrong camera"),
        ({"surplus": 1}, "lists no cameras"),
    ],
)
def test_a_changed_file_is_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = tmp_path / "cameras.yaml"
    save_calibrations([CALIBRATION], path)
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | change))
    with pytest.raises(InputError, match=words):
        load_calibrations(path)


@pytest.mark.parametrize(
    ("text", "got"),
    [("", "an empty file"), ("# none\n", "an empty file"), ("b: 1\na: 2\n", "the keys a, b")],
)
def test_a_file_of_something_else_is_no_calibration(tmp_path: Path, text: str, got: str) -> None:
    path = tmp_path / "camera.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"camera.yaml is not a calibration of the gate.*; got '{got}'"):
        load_calibrations(path)


def test_of_a_replaced_file_stays_what_is_kept_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    assert stays_in(path, keep=False) == stays_in(path, keep=True) == GateFile(path, ())
    path = write_gate(tmp_path)
    whole = load_gate_file(path)
    assert stays_in(path, keep=True) == whole
    assert stays_in(path, keep=False, replaces=lambda one: one.judge == "learned") == GateFile(path, ())
    with pytest.raises(UsageError, match="holds the judge learned of top, which would be lost"):
        stays_in(path, keep=False, replaces=lambda one: one.judge == "metric:niqe")
    save_calibrations(whole.cameras, path)
    with pytest.raises(UsageError, match=r"holds the calibration of .*, which would be lost"):
        stays_in(path, keep=False, replaces=lambda one: one.judge == "learned")
    path.write_text(path.read_text().replace(f"'{STATISTICS_VERSION}'", "'0'"))
    assert stays_in(path, keep=False) == GateFile(path, ()), "no version can use it any more"
    with pytest.raises(InputError, match="cannot be used by this version"):
        stays_in(path, keep=True)


@pytest.mark.parametrize(
    ("name", "sides", "words"),
    [
        ("sharpness", [1, 2, 3], "four numbers"),
        ("sharpness", [1, 2, 3, "4"], "four numbers"),
        ("sharpness", [4, 3, 2, 1], "wrong bounds"),
        ("smell", [1, 2, 3, 4], "unknown word 'smell'"),
    ],
)
def test_wrong_bounds_in_a_file_are_refused(
    tmp_path: Path, name: str, sides: list[object], words: str
) -> None:
    path = tmp_path / "cameras.yaml"
    save_calibrations([CALIBRATION], path)
    tree = yaml.safe_load(path.read_text())
    tree["cameras"][0]["bounds"][name] = sides
    path.write_text(yaml.safe_dump(tree))
    with pytest.raises(InputError, match=words):
        load_calibrations(path)


def test_a_missing_statistic_is_refused() -> None:
    bounds = {s: b for s, b in CALIBRATION.bounds.items() if s is not Statistic.NOISE}
    with pytest.raises(InputError, match="noise"):
        GateCalibration(View.TOP, 640, 480, bounds, 100, "")


def blurred(frame: ImageStatistics, strength: float) -> ImageStatistics:
    """As blur of a strength leaves it: less detail and less noise, both by their logarithm."""
    return replace(
        frame,
        sharpness=frame.sharpness * 20**-strength,
        noise=(frame.noise + 0.1) * 4**-strength - 0.1,
        detail=frame.detail * 5**-strength,
    )


def test_tolerated_disturbances_pass_up_to_their_strength_but_not_what_resembles_them_in_part(
    tmp_path: Path,
) -> None:
    strong = [blurred(frame, 1.0) for frame in clean_frames(400, seed=2)]
    tolerant = calibrate(View.TOP, clean_frames(400), "synthetic", tolerated={"blur": strong})
    assert tolerant.bounds == CALIBRATION.bounds
    save_calibrations([tolerant], tmp_path / "gate.yaml")
    (read,) = load_calibrations(tmp_path / "gate.yaml")
    assert list(read.tolerated) == ["blur"]

    def passed(calibration: GateCalibration, frames: list[ImageStatistics]) -> float:
        verdicts = [judge_image(View.TOP, frame, calibration)[0] for frame in frames]
        return float(np.mean([verdict is Verdict.PASS for verdict in verdicts]))

    fresh = clean_frames(400, seed=3)
    for strength in (0.0, 0.25, 0.5, 0.75, 1.0):
        frames = [blurred(frame, strength) for frame in fresh]
        assert passed(tolerant, frames) == passed(read, frames) > 0.97
    assert passed(CALIBRATION, [blurred(frame, 1.0) for frame in fresh]) == 0
    assert passed(tolerant, [blurred(frame, 2.0) for frame in fresh]) == 0
    in_part = [replace(blurred(frame, 1.0), detail=frame.detail) for frame in fresh]
    assert passed(tolerant, in_part) < 0.02
    dark = [replace(blurred(frame, 0.5), exposure=0.01) for frame in fresh]
    assert passed(tolerant, dark) == 0
    with pytest.raises(InputError, match="too few blur frames"):
        calibrate(View.TOP, clean_frames(400), "synthetic", tolerated={"blur": strong[:19]})


@pytest.mark.parametrize("text", ["01", "01:6", "01:0", "nothing:2", ":2"])
def test_a_wrong_tolerance_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Tolerance.parse(text)


def test_a_tolerance_names_distortions_at_all_levels_up_to_its_own() -> None:
    tolerances = Tolerance.parse("jpeg,1:2")
    assert [one.name for one in tolerances] == [
        "10 jpeg level 1", "10 jpeg level 2", "01 gaussian-blur level 1", "01 gaussian-blur level 2",
    ]  # fmt: skip
    rgb = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    taken = [name for index in range(4) for name, _ in disturbed(rgb, index, tolerances)]
    assert taken == 2 * [one.name for one in tolerances]
    for name, image in disturbed(rgb, 0, tolerances):
        number, level = name[:2], int(name[-1])
        assert np.array_equal(image, distort(rgb, number, level, np.random.default_rng(0)))
    assert not list(disturbed(rgb, 0, ()))

"""Judges by name, from the gate's file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import GateFile, load_gate_file, shared_gate_file
from embodied_iqa.quality.gate.fitted import FittedGate
from embodied_iqa.quality.gate.fitted_judge import FittedJudge, Predictor
from embodied_iqa.quality.gate.judgement import ImageJudge, JudgeChoice, JudgeKind
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge


def make_judge(choice: JudgeChoice, file: GateFile, policy: str = "") -> ImageJudge:
    """Return a judge.

    Args:
        choice: Which one.
        file: The gate's calibration.
        policy: Subject that decides on the images; empty to judge images alone.

    Raises:
        InputError: The file holds no fit of this judge, or a network is missing, damaged or another one.
        UserError: The metric cannot be loaded.
    """
    statistics = StatisticsJudge(file.cameras)
    if choice.kind is JudgeKind.STATISTICS:
        return statistics
    if not file.path.name:
        raise InputError(f"no calibration for the judge {choice}", expected="a file of `gate fit`")
    fitted = [gate for gate in file.fitted if gate.choice == choice]
    if not fitted:
        raise InputError(
            f"{file.path} holds no fit of the judge {choice} (embodied-iqa gate fit)",
            available=["statistics", *dict.fromkeys(gate.judge for gate in file.fitted)],
        )
    predictors = [(gate, predictor_of(gate, file.path.parent)) for gate in fitted]
    return FittedJudge(statistics, predictors, policy)


def unfitted(choice: JudgeChoice, file: GateFile, views: Collection[View]) -> tuple[str, ...]:
    """Return the cameras, with their sizes, that statistics judge in place of another judge.

    Args:
        choice: The judge.
        file: The gate's calibration.
        views: The cameras to look at.
    """
    if choice.kind is JudgeKind.STATISTICS:
        return ()
    fitted = {gate.camera for gate in file.fitted if gate.choice == choice}
    ours = [(one.view, one.width_px, one.height_px) for one in file.cameras if one.view in views]
    return tuple(f"{one[0]} {one[1]}x{one[2]}" for one in ours if one not in fitted)


def unfitted_in_words(choice: JudgeChoice, cameras: Collection[str]) -> str:
    """Return that statistics judge some cameras, see `unfitted`; empty where there are none."""
    return f"no fit of the judge {choice} for {', '.join(cameras)}: judged by statistics" if cameras else ""


def advice_in_words(
    choice: JudgeChoice,
    file: GateFile,
    views: Collection[View],
    sizes: Collection[tuple[View, int, int]] | None = None,
) -> str:
    """Return what `gate fit` advises about the judge of some cameras; empty where it advises nothing.

    Args:
        choice: The judge.
        file: The gate's calibration.
        views: The cameras.
        sizes: Cameras with width and height [px] of their images, where these are known.
    """
    fits = [one for one in file.fitted if one.choice == choice and one.view in views and one.advice]
    fits = [one for one in fits if sizes is None or one.camera in sizes]
    return "; ".join(f"{one.view} {one.width_px}x{one.height_px}: {one.advice}" for one in fits)


def fitted_to(choice: JudgeChoice, file: GateFile, views: Collection[View]) -> tuple[str, ...]:
    """Return the policies that the judge of some cameras was fitted to; none for statistics."""
    fits = [one for one in file.fitted if one.choice == choice and one.view in views]
    return tuple(dict.fromkeys(one.policy for one in fits))


def predictor_of(gate: FittedGate, base: Path) -> Predictor:
    """Return what a fitted judge predicts with.

    Raises:
        InputError: A network is missing, damaged or another one, or the file names none.
        UserError: The metric cannot be loaded.
    """
    from embodied_iqa.quality.gate.predictors import (  # noqa: PLC0415 - the gate of statistics needs none
        MetricPredictor,
        NetworkPredictor,
    )

    if gate.choice.kind is JudgeKind.METRIC:
        return MetricPredictor(gate.choice.metric, gate.model, base)
    if gate.networks is None:
        raise InputError(f"the learned judge of the {gate.view} camera has no networks")
    return NetworkPredictor(gate.networks, base)


def load_judge(choice: JudgeChoice, path: Path, policy: str = "") -> ImageJudge:
    """Return a judge of a file; see `make_judge`."""
    return make_judge(choice, load_gate_file(path), policy)


def shared_judge(choice: JudgeChoice, calibration: str, policy: str = "") -> ImageJudge:
    """Return a judge of the file that a node's parameter names; see `shared_gate_file` and `make_judge`."""
    return make_judge(choice, shared_gate_file(calibration), policy)

"""Fits a gate: trains its networks, finds its threshold and checks it on held-out scenes; resumable."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import asdict, replace
from functools import cached_property, partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of, write_whole
from embodied_iqa.base.lazy import load
from embodied_iqa.base.progress import track
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration import GateCalibration, calibrate, seen_ranges
from embodied_iqa.quality.gate.calibration_file import GateFile, save_calibrations
from embodied_iqa.quality.gate.fitted import FittedGate, LossKind, NetworkFile, Networks, Ordinary, unlike
from embodied_iqa.quality.gate.fitting.check import (
    JudgedFrames,
    Mask,
    advice_of,
    check_threshold,
    expected_of,
)
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.fitting.measured_statistics import GateStatistics, statistics_from
from embodied_iqa.quality.gate.fitting.second import fit_second_stage
from embodied_iqa.quality.gate.fitting.source import DatabaseSource, FitSource, acts_in
from embodied_iqa.quality.gate.fitting.split import split_scenes
from embodied_iqa.quality.gate.fitting.unseen import UnseenFrames, check_unseen, type_groups
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic
from embodied_iqa.quality.gate.judgement import JudgeKind
from embodied_iqa.quality.gate.predictors import MetricPredictor, NetworkPredictor, judging_metric
from embodied_iqa.quality.gate.risk_control import Threshold, control_risk
from embodied_iqa.quality.gate.second_stage import SecondStage
from embodied_iqa.quality.gate.statistics_judge import unusual
from embodied_iqa.quality.metrics.learned.card import CARD_FILE, NETWORK_FILE
from embodied_iqa.quality.metrics.learned.trained import model_folder
from embodied_iqa.quality.metrics.learned.training_range import RANGE_FILE
from embodied_iqa.quality.metrics.training.cache import input_cache
from embodied_iqa.quality.metrics.training.measuring import Measurable, MeasuredInputs, measure_inputs
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name

_MARGIN: Final = 0.1
"""Share of its range by which what was seen of a statistic is widened on each side."""
_LIBRARIES: Final = ("numpy", "opencv-python-headless", "onnxruntime")
_MEANING: Final = {
    LossKind.DECISION: "what the decision score lacks of 1, refusals included",
    LossKind.WRONG_MOTION: "what the decision score lacks of 1 where the policy acts",
}

Array = NDArray[np.float64]


def fit_gate(database: Path, plan: FitPlan, known: GateFile) -> FittedGate:
    """Fit a gate to a policy and write its file; finished networks of the same fit are used again.

    Args:
        database: With scores of the policy.
        plan: What shall be found.
        known: The file to write, with ordinary ranges and fits that stay; a fit of the same judge, camera and
            size is replaced, and ranges are estimated from clean training frames where they are missing.
            Networks are put in a folder of the same name without suffix; those of another fit stay as they
            are, so that an old file works until the new one is there.

    Raises:
        InputError: Too few scenes for the promise, or no threshold keeps it.
        UserError: A file is missing or damaged, or the metric cannot be loaded.
    """
    store = DatabaseStore(database)
    return fit_source(DatabaseSource(store, plan), replace(plan, acts=acts_in(store, plan.policy)), known)


def fit_source(source: FitSource, plan: FitPlan, known: GateFile) -> FittedGate:
    """Fit a gate to labelled images, see `fit_gate`."""
    fit = _Fit(source, plan, known)
    fitted = fit.run()
    cameras = known.cameras if fit.calibration in known.cameras else (*known.cameras, fit.calibration)
    others = [one for one in known.fitted if (one.judge, one.camera) != (fitted.judge, fitted.camera)]
    save_calibrations(cameras, known.path, [*others, fitted])
    return fitted


class _Fit:
    def __init__(self, source: FitSource, plan: FitPlan, known: GateFile) -> None:
        self._source, self._plan, self._known = source, plan, known
        self._images, self._frames, self._size_px = source.images, source.frames, source.size_px
        self._split = split_scenes(self._frames.scenes.tolist(), plan.promise, plan.seed)
        self._statistics: tuple[ImageStatistics, ...] = ()
        self._model: NetworkFile | None = None

    @cached_property
    def calibration(self) -> GateCalibration:
        """The ordinary range of the camera: the known one, else that of the clean training frames."""
        camera = self._plan.view, *self._size_px
        for known in self._known.cameras:
            if (known.view, known.width_px, known.height_px) == camera:
                return known
        return calibrate(self._plan.view, self._of(self._clean()), f"clean frames of {self._images.name}")

    def run(self) -> FittedGate:
        plan, frames = self._plan, self._frames
        networks = self._networks() if plan.judge.kind is JudgeKind.LEARNED else None
        self._model = copy_model(plan.judge.metric, plan.view, self._known.path)
        self._statistics = self._measured_statistics()
        predicted = self._predicted(networks)
        seen, ordinary, judged = self._judged(predicted, np.ones(len(frames), np.bool_))
        calibrating = judged.part(frames.of_scenes(self._split.calibrate))
        threshold = self._threshold(calibrating)
        second = self._second(judged, threshold.value) if networks is not None else None
        checked = judged.part(frames.of_scenes(self._split.check))
        fitted = FittedGate(
            judge=str(plan.judge),
            view=plan.view,
            width_px=self._size_px[0],
            height_px=self._size_px[1],
            policy=plan.policy_name,
            loss=plan.loss,
            threshold=threshold.value,
            promise=self._promise(threshold),
            expected=expected_of(calibrating, threshold.value),
            seen=seen,
            networks=networks,
            model=self._model,
            ordinary=ordinary,
            second=second,
            calibration=_record_of(threshold, int((~calibrating.frames.clean).sum())),
            check=check_threshold(checked, threshold.value, plan.loss),
            advice=advice_of(calibrating, threshold, plan.loss),
            provenance=self._provenance(),
        )
        before = [one.unseen for one in self._known.fitted if _is_same_fit(one, fitted)]
        return replace(fitted, unseen=before[0] if before else self._unseen(networks, predicted))

    def _judged(
        self, predicted: tuple[Array, Array], known: Mask
    ) -> tuple[dict[Statistic, tuple[float, float]], Ordinary, JudgedFrames]:
        """Return ranges and limit as from the known training frames, and all frames as judged with these."""
        seen = seen_ranges(self._of(self._frames.of_scenes(self._split.train) & known), _MARGIN)
        rejected = np.array([bool(unlike(seen, one)) for one in self._statistics])
        ordinary, limited = self._limited(*predicted)
        return seen, ordinary, JudgedFrames(self._frames, *limited, rejected)

    def _unseen(self, networks: Networks | None, predicted: tuple[Array, Array]) -> dict[str, float | None]:
        """Return the check on types that were left out of all that is fitted; empty if there are too few."""
        frames, promise = self._frames, self._plan.promise
        calibrating, checking = map(frames.of_scenes, (self._split.calibrate, self._split.check))
        judged, groups = list[UnseenFrames](), type_groups(frames)
        left = [frames.scenes[calibrating & ~group & ~frames.clean] for group in groups]
        if any(len(np.unique(scenes)) < promise.fewest_scenes for scenes in left):
            return {}  # some scenes have distortions of one group only
        for number, group in enumerate(groups, start=1):
            if networks is not None:
                title = f"types left out, {number} of {len(groups)}"
                predicted = self._predicted_without(group, networks, title)
            _, _, found = self._judged(predicted, ~group)
            threshold = control_risk(found.part(calibrating & ~group).by_scene(self._plan.loss), promise)
            judged.append(UnseenFrames(found.part(checking & group), threshold.value))
        if networks is not None:
            shutil.rmtree(self._states(networks), ignore_errors=True)
        return check_unseen(judged, self._plan.loss) if judged else {}

    def _predicted_without(self, group: Mask, networks: Networks, title: str) -> tuple[Array, Array]:
        """Return what networks predict that have not seen some of the frames."""
        part = self._frames.part(self._frames.of_scenes(self._split.first) & ~group)
        predicted: tuple[Array, Array] = load("embodied_iqa.quality.gate.fitting.networks:predicted_by")(
            self._images, part, self._plan, self._inputs, self._states(networks), title=title
        )
        return predicted

    def _states(self, networks: Networks) -> Path:
        """Return the folder of trainings without some types, until all of them are done."""
        own = Path(networks.loss.folder).parent
        return self._known.path.parent / own.with_name(f"{own.name}-unseen")

    @cached_property
    def _inputs(self) -> MeasuredInputs:
        return self._measure(recipe_by_name(self._plan.recipe).input, "measure images")

    def _second(self, judged: JudgedFrames, screen: float) -> SecondStage | None:
        """Return the second stage; None where the policy does not report what it sees."""
        motions = self._source.motions((judged.value, judged.wrong_motion), judged.rejected)
        if motions is None:
            return None
        split, promise = self._split, self._plan.promise
        train, calibrate, check = map(motions.of_scenes, (split.second, split.calibrate, split.check))
        return fit_second_stage(train, calibrate, check, promise, screen)

    def _threshold(self, judged: JudgedFrames) -> Threshold:
        promise = self._plan.promise
        threshold = control_risk(judged.by_scene(self._plan.loss), promise)
        if not math.isfinite(threshold.value):
            raise InputError(
                f"no threshold keeps a risk of {promise.risk:g}: every frame would be held",
                expected="a higher --risk, more scenes, or a judge that predicts better",
            )
        return threshold

    def _limited(self, value: Array, wrong: Array) -> tuple[Ordinary, tuple[Array, Array]]:
        """Return what is predicted at most of ordinary images, and the predictions with this limit."""
        clean = self._clean()
        most = [round(float(np.median(one[clean])), 6) for one in (value, wrong)]
        usual = np.array([not unusual(one, self.calibration) for one in self._statistics])
        value, wrong = (
            np.where(usual, np.minimum(one, high), one)
            for one, high in zip((value, wrong), most, strict=True)
        )
        learned = self._plan.judge.kind is JudgeKind.LEARNED
        return Ordinary(most[0], most[1] if learned else None), (value, wrong)

    def _clean(self) -> Mask:
        """Return which images are clean training frames."""
        rows: Mask = self._frames.of_scenes(self._split.train) & self._frames.clean
        return rows

    def _of(self, rows: Mask) -> list[ImageStatistics]:
        return [self._statistics[index] for index in np.flatnonzero(rows)]

    def _networks(self) -> Networks:
        part = self._frames.part(self._frames.of_scenes(self._split.first))
        trained: Networks = load("embodied_iqa.quality.gate.fitting.networks:train_networks")(
            self._images, part, self._plan, self._known.path
        )
        return trained

    def _measure(self, wanted: Measurable, title: str) -> MeasuredInputs:
        ids, scenes = self._frames.ids.tolist(), self._frames.scenes.tolist()
        workers = self._plan.workers
        return measure_inputs(self._images, ids, scenes, wanted, input_cache(), workers=workers, title=title)

    def _measured_statistics(self) -> tuple[ImageStatistics, ...]:
        rows = self._measure(GateStatistics(), "measure statistics of the gate").values
        return tuple(statistics_from(row) for row in rows)

    def _predicted(self, networks: Networks | None) -> tuple[Array, Array]:
        """Return what the judge predicts of all frames, by the code that it runs live."""
        base = self._known.path.parent
        if networks is None:
            metric = MetricPredictor(self._plan.judge.metric, self._model, base)
            ids = self._frames.ids.tolist()
            pairs = track(self._images.read(ids), f"measure {self._plan.judge.metric}", len(ids))
            values = np.array([metric.value(pair.distorted, pair.context) for pair in pairs])
            self._require_numbers(values)
            return values, values
        return NetworkPredictor(networks, base).outputs(self._inputs.values, self._inputs.views)

    def _require_numbers(self, values: Array) -> None:
        failed = self._frames.ids[~np.isfinite(values)]
        if len(failed):
            raise InputError(
                f"{self._plan.judge} gives no finite number for {len(failed)} of {len(values)} frames, "
                f"such as {failed[0]}",
                expected="a metric of any image",
            )

    def _promise(self, threshold: Threshold) -> str:
        plan = self._plan
        return (
            f"{threshold.sentence} Loss: {_MEANING[plan.loss]}, as a mean over the tasks of a frame. "
            f"Policy: {plan.policy_name}; camera: {plan.view} at {self._size_px[0]}x{self._size_px[1]}; "
            f"{self._source.conditions}."
        )

    def _provenance(self) -> dict[str, str]:
        versions = {name: version_of(name) for name in _LIBRARIES}
        split = {name: str(len(scenes)) for name, scenes in asdict(self._split).items()}
        return {
            "database": self._images.name,
            "plan": json.dumps(dict(self._source.record)),
            **{f"scenes to {name}": count for name, count in split.items()},
            "seed": str(self._plan.seed),
            "command": self._plan.command,
            "embodied_iqa": __version__,
            **versions,
        }


def _is_same_fit(before: FittedGate, now: FittedGate) -> bool:
    """Return whether a fit is that of an earlier call, whose check on unseen types is there."""
    return bool(before.unseen) and _identity(before) == _identity(now)


def _identity(fit: FittedGate) -> tuple[object, ...]:
    provenance = {name: word for name, word in fit.provenance.items() if name != "command"}
    own = (fit.judge, fit.camera, fit.policy, fit.networks, fit.model, fit.promise, fit.threshold)
    return (*own, fit.calibration, fit.check, provenance)


def _record_of(threshold: Threshold, frames: int) -> dict[str, float | None]:
    return {
        "risk": threshold.promise.risk,
        "confidence": threshold.promise.confidence,
        "scenes": float(threshold.scenes),
        "frames": float(frames),
        "seen_risk": round(threshold.seen_risk, 4),
        "passed": round(threshold.passed, 4),
    }


def copy_model(metric: str, view: View, out: Path) -> NetworkFile | None:
    """Copy the model of a trained metric: the threshold is for this one. Every model has a folder of its own.

    Args:
        metric: Name of a metric; empty for a judge that is none.
        view: The camera.
        out: The gate's file; the folder is beside it.

    Returns:
        The copy; None for other metrics.

    Raises:
        UserError: The model is missing or damaged, compares with a reference, or cannot be copied.
    """
    source = model_folder(metric)
    if source is None:
        return None
    judging_metric(metric)  # reports a missing or damaged file
    digest = sha256_of(source / CARD_FILE)
    folder = out.with_suffix("") / f"{view}-metric-{digest[:8]}"
    for name in (NETWORK_FILE, RANGE_FILE, CARD_FILE):
        if name != RANGE_FILE or (source / name).exists():  # trainings of before have none
            write_whole(folder / name, partial(shutil.copyfile, source / name))
    return NetworkFile(folder.relative_to(out.parent).as_posix(), digest)

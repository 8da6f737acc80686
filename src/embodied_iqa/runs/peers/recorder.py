"""Records what failure detectors see of the runs of an experiment: the runs without a gate, once more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.se3 import chain_increments
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.quality.gate.judgement import ImageJudge, JudgeChoice, JudgeKind, Judgement
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.experiment.arms import OFF
from embodied_iqa.runs.experiment.experiment_plan import RunKey
from embodied_iqa.runs.experiment.folder import StoredExperiment, locked_experiment, read_experiment
from embodied_iqa.runs.experiment.headless_runs import HeadlessRunner
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.peers.comparison import WatchedRun, compare_detectors
from embodied_iqa.runs.peers.signals import Signals, read_signals, write_signals
from embodied_iqa.runs.peers.stored import ComparedDetectors, write_detectors
from embodied_iqa.world.protocols import FeatureSubject, Vla, VlaObservation

WATCHED_S: Final = 2.0
"""Time of a run that detectors see."""
_FOLDER: Final = "signals"
_SHIFTS_PX: Final = ((0, 0), (4, 0), (-4, 0), (0, 4), (0, -4))
"""Copies of an image of 640 pixels width; the embedded policies look at about 240 to 320."""
_STEPS: Final = 8
"""Points of the way of the tool."""

Array = NDArray[np.float64]
T = TypeVar("T")


class SignalRecorder:
    """Repeats runs without a gate and records what detectors see of them.

    Args:
        folder: Of the experiment; the signals go to ``signals``.
        options: Parameters of every run.
    """

    def __init__(self, folder: Path, options: HeadlessOptions) -> None:
        self._folder = folder / _FOLDER
        self._options = options
        gate = options.nodes.gate_node
        self._judges = [
            shared_judge(JudgeChoice(kind), gate.calibration)
            for kind in (JudgeKind.LEARNED, JudgeKind.STATISTICS)
        ]
        self._vla_options = options.nodes.vla_node.options
        self._period_ns = options.image_period_ns
        self._policies: dict[str, Vla] = {}

    def watched(
        self, stored: StoredExperiment, progress: Callable[[int], None] = lambda _: None
    ) -> list[WatchedRun]:
        """Return the finished runs without a gate with their signals; those that are missing are recorded.

        Raises:
            UsageError: No arm ``off``, or a policy with several cameras or without features.
        """
        rows = {
            (row.subject, row.task, row.scene_seed, row.distortion_id, row.level, row.schedule): row
            for row in stored.rows
            if row.arm == OFF.name
        }
        if not rows:
            raise UsageError("failure detectors watch runs without a gate", expected="--gate off,...")
        runs = []
        with HeadlessRunner(self._options) as runner:
            for key in (key for key in stored.plan.runs() if key.arm == OFF):
                spec = key.distortion
                what = ("", 0, "") if spec is None else (spec.id, spec.level, spec.schedule)
                row = rows.get((key.subject.text, key.task.task, key.task.scene_seed, *what))
                if row is None:
                    continue
                scene = f"{key.task.scene_seed} {key.task.task}"
                failed, wrong = row.outcome != Outcome.SUCCESS, bool(row.wrong_motions)
                runs.append(WatchedRun(self._signals(key, runner), scene, row.is_reference, wrong, failed))
                progress(len(runs))
        return runs

    def _signals(self, key: RunKey, runner: HeadlessRunner) -> Signals:
        path = self._folder / f"{key.name}.npz"
        if not path.is_file():
            write_signals(self._recorded(key, runner), path)
        return read_signals(path)

    def _recorded(self, key: RunKey, runner: HeadlessRunner) -> Signals:
        vla = self._policies.get(key.subject.text)
        if vla is None:
            vla = self._policies[key.subject.text] = make_vla(key.subject, options=self._vla_options)
        (view, *more) = vla.info.views
        if more or not isinstance(vla, FeatureSubject):
            raise UsageError(
                "detectors need a policy with one camera that shows its features", got=key.subject
            )
        keeper = ImageKeeper(round(WATCHED_S * SECOND_NS / self._period_ns))
        record = runner.watch(key, keeper, WATCHED_S)
        observe = _Observer(vla, view, key.task.task, record.chunks[0].T_base_tool)
        return _signals_of(keeper.images, observe, self._judges, self._period_ns)


class ImageKeeper:
    """A judge that passes and keeps images.

    Args:
        most: Images that are kept, the first ones.
    """

    def __init__(self, most: int) -> None:
        self.images: list[NDArray[np.uint8]] = []
        self._most = most

    def judge(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        """See `ImageJudge`."""
        del view
        if rgb is not None and len(self.images) < self._most:
            self.images.append(rgb.copy())
        return Judgement(Verdict.PASS, "")


class _Observer:
    """Asks a policy about images as at the start of the task."""

    def __init__(self, vla: Any, view: View, task: str, T_base_tool: Array) -> None:
        self._vla, self.view, self._task, self._T_base_tool = vla, view, task, T_base_tool

    def embedding(self, rgb: NDArray[np.uint8]) -> Array:
        """Return ``(2 C,)``, mean and maximum over the tokens."""
        tokens = self._vla.features(image_frame(rgb, self.view)).astype(np.float64)
        return np.concatenate([tokens.mean(axis=0), tokens.max(axis=0)])

    def chunks(self, rgb: NDArray[np.uint8]) -> Array:
        """Return ``(K, A)`` the ways of the tool in the chunks for shifted copies [m]."""
        return np.array([self._way(np.roll(rgb, shift, axis=(1, 0))) for shift in _SHIFTS_PX])

    def _way(self, rgb: NDArray[np.uint8]) -> Array:
        frames = {self.view: image_frame(np.ascontiguousarray(rgb), self.view)}
        chunk = self._vla.act(VlaObservation(frames, self._task, self._T_base_tool, 0.0, 0))
        poses = np.concatenate(
            [self._T_base_tool[None], chain_increments(self._T_base_tool, chunk.increments)]
        )
        points: Array = poses[:, :3, 3]
        at = np.linspace(0, len(points) - 1, _STEPS + 1)[1:].round().astype(np.int64)
        return points[at].ravel()


def _signals_of(
    images: Sequence[NDArray[np.uint8]], observe: _Observer, judges: Sequence[ImageJudge], period_ns: int
) -> Signals:
    embeddings = [_timed(observe.embedding, rgb) for rgb in images]
    chunks = [_timed(observe.chunks, rgb) for rgb in images]
    learned, statistics = (
        [_timed(partial(judge.judge, observe.view), rgb) for rgb in images] for judge in judges
    )
    predictions = [judgement.prediction for judgement, _ in learned]
    spent_ms = [[part[1] for part in parts] for parts in (embeddings, chunks, learned, statistics)]
    return Signals(
        time_s=np.arange(len(images)) * period_ns / SECOND_NS,
        embeddings=np.array([values for values, _ in embeddings]),
        chunks=np.array([values for values, _ in chunks]),
        learned=np.array([1.0 if one is None else one.value for one in predictions]),
        wrong_motion=np.array([1.0 if one is None else one.wrong_motion or 0.0 for one in predictions]),
        statistics=np.array([float(judgement.verdict) for judgement, _ in statistics]),
        cost_ms=np.median(spent_ms, axis=1),
    )


def _timed(ask: Callable[[NDArray[np.uint8]], T], rgb: NDArray[np.uint8]) -> tuple[T, float]:
    """Return the answer and the time that it took [ms]."""
    begin = time.perf_counter()
    answer = ask(rgb)
    return answer, 1e3 * (time.perf_counter() - begin)


def compare_on(
    folder: Path, options: HeadlessOptions, rate: float, progress: Callable[[int], None] = lambda _: None
) -> ComparedDetectors:
    """Compare failure detectors on the finished runs of an experiment, and store the results beside them.

    Args:
        folder: Of the experiment; recorded signals stay in ``signals``.
        options: Parameters of every run.
        rate: Share of clean runs that may have an alarm.
        progress: Called with the number of runs that are recorded.

    Raises:
        UsageError: See `SignalRecorder.watched`; or several policies.
        InputError: Too few scenes, or the experiment goes on in another process.
    """
    with locked_experiment(folder):
        return _compared(folder, options, rate, progress)


def _compared(
    folder: Path, options: HeadlessOptions, rate: float, progress: Callable[[int], None]
) -> ComparedDetectors:
    stored = read_experiment(folder)
    if len(stored.plan.subjects) != 1:
        raise UsageError("failure detectors are fitted to one policy", expected="one name in --vla")
    runs = SignalRecorder(folder, options).watched(stored, progress)
    results = tuple(compare_detectors(runs, rate=rate))
    compared = ComparedDetectors(rate, len({run.scene for run in runs}), results)
    write_detectors(compared, folder)
    return compared

"""Where the learned judge errs on scenes that its fit has not seen, and what its guard does by itself.

embodied-iqa build --references 120 --views top --size 640x480 --panel panel-vla-query --seed 4242 --out DB
python benchmarks/gate_errors.py DB --json build/gate_errors.json

The guard rejects images with a statistic outside of everything in training. "only the guard" are those that
the networks would let pass. Intervals: 95 %, from drawing scenes again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
import numpy as np
from machine_state import machine_state
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.progress import track
from embodied_iqa.data.analysis.resampling import drawn_weights, interval_of
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions.catalogue import catalogue
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.fitted import unlike
from embodied_iqa.quality.gate.fitted_judge import FittedJudge
from embodied_iqa.quality.gate.fitting.check import HARMFUL, HARMLESS, scene_means
from embodied_iqa.quality.gate.fitting.frames import FrameImages, GateFrames, gate_frames
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judges import predictor_of
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.quality.metrics.benchmark.benchmark_images import DatabaseImages

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]
Judge = Callable[[NDArray[np.uint8]], tuple[bool, bool]]
_DRAWS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Distorted frames with both verdicts, all ``(N,)``."""

    frames: GateFrames
    held: Mask
    rejected: Mask

    @property
    def only_guard(self) -> Mask:
        """What the networks would let pass."""
        return self.rejected & ~self.held


def open_judge(file: Path, view: View) -> tuple[str, Judge]:
    """Return the policy of a fit, and what says whether its networks hold and whether its guard rejects."""
    gates = load_gate_file(file)
    fit = next((fit for fit in gates.fitted if fit.view == view and fit.networks is not None), None)
    if fit is None:
        raise InputError(f"{file} holds no learned judge of the {view} camera")
    unguarded = replace(fit, seen=dict.fromkeys(Statistic, (-np.inf, np.inf)))
    judge = FittedJudge(StatisticsJudge(gates.cameras), [(unguarded, predictor_of(fit, file.parent))])

    def verdicts(rgb: NDArray[np.uint8]) -> tuple[bool, bool]:
        found = judge.judge(view, rgb)
        if found.statistics is None or found.verdict is Verdict.REJECT:
            raise InputError("an image cannot be judged", got=found.reason)
        return found.verdict is Verdict.HOLD, bool(unlike(fit.seen, found.statistics))

    return fit.policy, verdicts


def judged(database: Path, policy: str, view: View, judge: Judge) -> Judged:
    """Judge the distorted images of a database."""
    frames = gate_frames(DatabaseStore(database), policy, view)
    frames = frames.part(~frames.clean)
    images = FrameImages(DatabaseImages(database)).read(frames.ids.tolist())
    rows = [judge(pair.distorted) for pair in track(images, "judge", len(frames))]
    held, rejected = np.array(rows, bool).reshape(-1, 2).T
    return Judged(frames, held, rejected)


def totals(found: Judged, weights: Array) -> dict[str, dict[str, list[float]]]:
    """Return each measure of the judge with its guard and without, and its interval over scenes."""
    loss, scenes = found.frames.decision, found.frames.scenes
    measures: dict[str, dict[str, list[float]]] = {}
    for name, mask in (("with the guard", found.held | found.rejected), ("without", found.held)):
        stopped = mask.astype(np.float64)
        measures[name] = {
            "risk": share(scenes, np.ones(len(loss), bool), loss * ~mask, weights),
            "harmful stopped": share(scenes, loss > HARMFUL, stopped, weights),
            "harmless held": share(scenes, loss <= HARMLESS, stopped, weights),
        }
    return measures


def share(scenes: NDArray[np.str_], chosen: Mask, values: Array, weights: Array) -> list[float]:
    """Return the mean over chosen frames and both ends of its interval."""
    _, index = np.unique(scenes, return_inverse=True)
    units = weights.shape[1]
    count, total = (np.bincount(index, one * chosen, units) for one in (np.ones(len(index)), values))
    drawn = weights @ total / np.maximum(weights @ count, 1.0)
    return [float(total.sum() / max(count.sum(), 1.0)), *interval_of(drawn)]


def errors(found: Judged) -> dict[str, dict[str, str]]:
    """Return, by type and by type and level where the guard acts, what is held and missed."""
    kinds, loss = found.frames.kinds, found.frames.decision
    stopped, only = found.held | found.rejected, found.only_guard
    ids = np.array([kind.partition(":")[0] for kind in kinds.tolist()])
    names = {entry.id: entry.name for entry in catalogue()}
    rows = {f"{one} {names[one]}": ids == one for one in sorted(set(ids.tolist()))}
    rows |= {f"{kind} guard": kinds == kind for kind in sorted(set(kinds[only].tolist()))}
    return {name: _row(own, loss, stopped, only) for name, own in rows.items()}


def _row(own: Mask, loss: Array, stopped: Mask, only: Mask) -> dict[str, str]:
    harmful, harmless = own & (loss > HARMFUL), own & (loss <= HARMLESS)
    return {
        "frames": str(own.sum()),
        "harmful missed": f"{(harmful & ~stopped).sum()} of {harmful.sum()}",
        "harmless held": f"{(harmless & stopped).sum()} of {harmless.sum()}",
        "harmful, only the guard": str((harmful & only).sum()),
        "harmless, only the guard": str((harmless & only).sum()),
        "between, only the guard": str((own & only & ~harmful & ~harmless).sum()),
    }


def _show(title: str, rows: dict[str, dict[str, str]]) -> None:
    table = Table("", *next(iter(rows.values())), title=title)
    for name, row in rows.items():
        table.add_row(name, *row.values())
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database", type=Path, help="of scenes that the fit has not seen")
    parser.add_argument("--gate", type=Path, default=Path("config/gate/simulated.yaml"))
    parser.add_argument("--view", type=View, default=View.TOP)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    policy, judge = open_judge(arguments.gate, arguments.view)
    found = judged(arguments.database, policy, arguments.view, judge)
    scenes = len(scene_means(found.frames.scenes, found.frames.decision))
    weights = drawn_weights(scenes, draws=_DRAWS, seed=0)
    measures = totals(found, weights)
    texts = {
        name: {measure: "{:.4f} [{:.4f}, {:.4f}]".format(*ends) for measure, ends in row.items()}
        for name, row in measures.items()
    }
    _show(f"{len(found.frames)} distorted frames of {scenes} scenes", texts)
    by_type = errors(found)
    _show("By type; by type and level where only the guard acts", by_type)
    if arguments.json:
        results = {"machine": machine_state(), "scenes": scenes, "totals": measures, "errors": by_type}
        write_text_whole(arguments.json, json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

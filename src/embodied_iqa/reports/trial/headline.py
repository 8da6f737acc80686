"""The verdict of a whole report in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from embodied_iqa.distortions import entry
from embodied_iqa.distortions.spec import DistortionSpec
from embodied_iqa.errors import UsageError
from embodied_iqa.reports.trial.report_input import ReportedTask
from embodied_iqa.scoring.execution import Outcome
from embodied_iqa.trial.record import RunRecord

__all__ = ["distortion_name", "headline"]

_NO_END: Final = "none"
_WRITTEN: Final = {
    "jpeg": "JPEG",
    "jpeg2000": "JPEG 2000",
    "webp": "WebP",
    "hsv": "HSV",
    "lab": "Lab",
    "cnn": "CNN",
}
"""Words that are names."""


def headline(tasks: Sequence[ReportedTask]) -> str:
    """Say how many runs succeeded on clean and on distorted pictures.

    Such as "On clean pictures 3 of 3 tasks succeeded; under 9 distortions 4 of 9 runs succeeded, and 1 ended
    in an emergency stop."
    """
    clean = [run for task in tasks for run in task.record.runs if run.distortion is None]
    distorted = [run for task in tasks for run in task.record.runs if run.distortion is not None]
    parts = []
    if clean:
        parts.append(f"on clean pictures {_tally(clean, 'task')}")
    if distorted:
        parts.append(f"under {_distortions(distorted)} {_tally(distorted, 'run')}")
    sentence = "; ".join(parts) or "no run was recorded"
    return sentence[0].upper() + sentence[1:] + "."


def distortion_name(spec: DistortionSpec | None) -> str:
    """Return what people call a distortion, such as "Lens blur"; its number where it is not known."""
    if spec is None:
        return "Clean"
    try:
        name = entry(spec.id).name
    except UsageError:
        return f"Distortion {spec.id}"
    words = " ".join(_WRITTEN.get(word, word) for word in name.replace("_", "-").split("-"))
    return words[0].upper() + words[1:] if name.split("-")[0] not in _WRITTEN else words


def _distortions(runs: Sequence[RunRecord]) -> str:
    kinds = {(run.distortion.id, run.distortion.level) for run in runs if run.distortion is not None}
    return f"{len(kinds)} distortion{'s' if len(kinds) != 1 else ''}"


def _tally(runs: Sequence[RunRecord], noun: str) -> str:
    count = Counter(_NO_END if run.outcome is None else run.outcome for run in runs)
    words = f"{count[Outcome.SUCCESS]} of {len(runs)} {noun}{'s' if len(runs) != 1 else ''} succeeded"
    remarks = []
    if stops := count[Outcome.EMERGENCY_STOP]:
        remarks.append(f"{stops} ended in an emergency stop")
    if unknown := count[_NO_END]:
        remarks.append(f"{unknown} {'has' if unknown == 1 else 'have'} no recorded end")
    return ", and ".join([words, ", ".join(remarks)]) if remarks else words

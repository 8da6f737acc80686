"""What the chapters of a planner's report share: transcripts by arm and subset, shares, names of arms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.models.scoring.proportions import Share, wilson
from embodied_iqa.pages.reports.kit.formatting import distortion_name
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.suites.cell_manipulation.planning.labels import LabelledFailure, Labels, label_failures
from embodied_iqa.suites.cell_manipulation.planning.planner_results import PLAN_FILE, read_transcripts
from embodied_iqa.suites.cell_manipulation.planning.transcript import Transcript

CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class PlannerStudy:
    """A run.

    Attributes:
        folder: Its folder.
        record: Text of its plan.
        transcripts: All episodes, by arm, subset and number.
        failures: Failed episodes with their errors.
    """

    folder: Path
    record: str
    transcripts: tuple[Transcript, ...]
    failures: tuple[LabelledFailure, ...]

    @property
    def planner(self) -> str:
        """Name of the planner."""
        return self.transcripts[0].planner

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, the clean one first."""
        names = dict.fromkeys(one.arm for one in self.transcripts)
        return tuple(sorted(names, key=lambda name: (not name.startswith(CLEAN), name)))

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """Subsets that were run, in the order of the protocol."""
        there = {one.episode.subset for one in self.transcripts}
        return tuple(subset for subset in Subset if subset in there)

    def of(self, arm: str, subset: Subset | None = None) -> tuple[Transcript, ...]:
        """Return the episodes of an arm, of one subset or of all."""
        return tuple(
            one for one in self.transcripts if one.arm == arm and subset in {None, one.episode.subset}
        )

    @property
    def levels(self) -> dict[str, dict[int, str]]:
        """Names of the arms without a gate by distortion and level."""
        found: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for name in self.arms:
            kind, dash, level = name.rpartition("-")  # names such as miqd:motion-blur-3 have two dashes
            if dash and level.isdecimal():
                found[kind][int(level)] = name
        return dict(found)


def load_study(folder: Path, labels: Labels | None = None) -> PlannerStudy:
    """Read a run.

    Args:
        folder: Of `embodied-iqa evaluate manipulation`.
        labels: Hand labels of errors.

    Raises:
        InputError: A file is missing or damaged, or a label fits no failure.
    """
    transcripts = tuple(read_transcripts(folder))
    if not transcripts or not (folder / PLAN_FILE).is_file():
        raise InputError(f"no run in {folder}", expected="a folder of `embodied-iqa evaluate manipulation`")
    record = (folder / PLAN_FILE).read_text(encoding="utf-8")
    failures = tuple(label_failures(transcripts, labels or {}))
    return PlannerStudy(folder, record, transcripts, failures)


def success_of(transcripts: Sequence[Transcript]) -> Share:
    """Return the share of solved episodes with its Wilson interval."""
    return wilson(sum(one.success for one in transcripts), len(transcripts))


def mean(values: Iterable[float]) -> float | None:
    """Return the mean; None of nothing."""
    known = list(values)
    return sum(known) / len(known) if known else None


def arm_title(name: str) -> str:
    """Return an arm in words: "Clean images", "Lens blur, level 3, gate hold"."""
    base, _, gate = name.partition("+")
    kind, _, level = base.rpartition("-")
    words = "Clean images"
    if base != CLEAN:
        words = f"{distortion_name(DistortionSpec(kind, int(level)))}, level {level}"
    return f"{words}, gate {gate}" if gate else words

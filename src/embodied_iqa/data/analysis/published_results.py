"""Results of the paper, shown in the report beside the measured numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import structure
from embodied_iqa.base.user_files.json_files import load_json

SHAPE: Final = "1,230 references, 36,900 pairs, 5.5 million annotations of 15 VLMs and 15 VLAs"
AGREEMENT: Final[Mapping[str, float]] = {
    "precision": 0.31,
    "recall": 0.31,
    "semantics": 0.30,
    "position": 0.25,
    "rotation": 0.23,
    "state": 0.28,
}
"""Mean SRCC between subjects, of each part."""

DECISION_EXECUTION: Final = 0.671
EXECUTION_REMARK: Final = (
    "Cognition against execution: SRCC below 0.5; decision against execution: above 0.6 (0.671)."
)
REMARKS: Final[Mapping[str, str]] = {
    "16": "hurts badly from level 1 on",
    "18": "VLAs are very sensitive to it",
    "19": "VLAs are very sensitive to it",
    "20": "rarely matters",
    "25": "barely matters even at level\N{NO-BREAK SPACE}5",
}
"""Remarks on single distortions, by number."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A number of the benchmark of metrics, tables 2 and 4 of the paper.

    Attributes:
        metric: Name.
        kind: "zero-shot", or fine-tuned: "FR" (full reference) or "NR" (no reference).
        target: The score.
        by: The property that the pairs share; "all" for all pairs.
        value: Its value.
        srcc: Mean of ten splits.
        krcc: Likewise.
        plcc: Likewise.
    """

    metric: str
    kind: str
    target: str
    by: str
    value: str
    srcc: float
    krcc: float
    plcc: float


@cache
def published_metrics() -> tuple[PublishedRow, ...]:
    """Return tables 2 and 4 of the paper: cognition and decision."""
    file = Path(str(files("embodied_iqa.data.analysis").joinpath("published_metrics.json")))
    return structure(tuple[PublishedRow, ...], load_json(file, "the published numbers"), str(file))

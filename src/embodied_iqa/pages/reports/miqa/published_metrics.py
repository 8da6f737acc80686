"""Published results of machine-vision quality metrics (arXiv 2508.19850, tables 5 to 8 and figure 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from embodied_iqa.base.records import structure
from embodied_iqa.base.user_files.json_files import load_json


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A published result; None where the paper has no number.

    Attributes:
        model: Name.
        task: cls, det or ins.
        label: composite, consistency or accuracy.
        by: "mode", "type", "trained on" (another task), or "all" for all images.
        value: Its value.
        srcc: Spearman's rank correlation.
        plcc: Pearson's correlation after the logistic.
        krcc: Kendall's rank correlation.
        rmse: Root mean squared error after the logistic.
    """

    model: str
    task: str
    label: str
    by: str
    value: str
    srcc: float
    plcc: float | None
    krcc: float | None
    rmse: float | None


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """Return the published results."""
    file = Path(str(files("embodied_iqa.data.analysis").joinpath("published_miqa.json")))
    return structure(tuple[PublishedRow, ...], load_json(file, "the published numbers"), str(file))

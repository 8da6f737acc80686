"""Published rows of StaticEmbodiedBench (arXiv 2508.06553), and remarks on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from embodied_iqa.base.records import structure
from embodied_iqa.base.user_files.json_files import load_json


@dataclass(frozen=True, slots=True)
class PublishedVlm:
    """A row of the table of VLMs: accuracies in percent.

    Attributes:
        model: Name as printed.
        macro: Macro planning.
        micro: Micro perception.
        stage: Stage-wise reasoning.
        first: First-person items.
        third: Third-person items.
        score: Over all 1,000 items.
    """

    model: str
    macro: float
    micro: float
    stage: float
    first: float
    third: float
    score: float


@dataclass(frozen=True, slots=True)
class PublishedVla:
    """A row of the table of VLAs: points in [0, 100].

    Attributes:
        model: Name as printed.
        parameters: Their number, as printed.
        steps: Length of the action chunk.
        position: Points of the position.
        orientation: Points of the orientation.
        end_effector: Points of the gripper.
        score: Overall.
    """

    model: str
    parameters: str
    steps: int
    position: float
    orientation: float
    end_effector: float
    score: float


@dataclass(frozen=True, slots=True)
class PublishedTables:
    """Both tables, in their order.

    Attributes:
        vlm: VLMs.
        vla: VLAs.
        remarks: What the arithmetic of the rows shows; derived here, not by the paper.
    """

    vlm: tuple[PublishedVlm, ...]
    vla: tuple[PublishedVla, ...]
    remarks: tuple[str, ...]


@cache
def published_tables() -> PublishedTables:
    """Return both tables of the paper."""
    file = Path(str(files("embodied_iqa.suites.static_benchmark").joinpath("published.json")))
    return structure(PublishedTables, load_json(file, "the published numbers"), str(file))

"""Chapter: refusals of policies apart from wrong motions."""

from __future__ import annotations

from typing import Final

from embodied_iqa.data.analysis.decision_losses import ALL, LossRow
from embodied_iqa.data.analysis.grid import TASKS_OF_SCALE, Group
from embodied_iqa.data.analysis.study import Study
from embodied_iqa.pages.reports.database.by_group import SCORE_RANGE, title_of
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table

_COLUMNS: Final = (
    Column("pairs"),
    Column("Refused, %", 1, name="refused_percent"),
    Column("Loss by refusal", heat=SCORE_RANGE, name="refusal_loss"),
    Column("Loss by wrong motion", heat=SCORE_RANGE, name="wrong_motion_loss"),
    Column("Of all loss, %", 1, name="share_percent"),
)
_NOTE: Final = (
    "Loss: what the mean decision lacks of 5. By refusal: the policy saw no target on the distorted image, "
    "and did on the reference, so it does not move. By wrong motion: all other tasks. Refused: share of the "
    "tasks."
)


def chapter(study: Study) -> Chapter:
    """Return the chapter."""
    found = study.groups.get(Group.DECISION)
    losses = {} if found is None else found.losses
    lead = (
        "A policy that refuses stays still; one that acts may end elsewhere. Which of the two does less harm "
        "is not measured."
    )
    parts = tuple(Part(title_of(by), (_table(by, rows),)) for by, rows in losses.items())
    return Chapter("losses", "Refusals and wrong motions", lead if parts else "No VLA was scored.", "", parts)


def _table(by: str, rows: tuple[LossRow, ...]) -> Table:
    lines: list[Row] = [
        (
            distortion_label(row.value) if by == "distortion" and row.value != ALL else row.value,
            row.count,
            100 * row.refused / TASKS_OF_SCALE,
            row.refusal_loss,
            row.wrong_motion_loss,
            100 * row.share,
        )
        for row in rows
    ]
    columns = (Column(title_of(by), name=by), *_COLUMNS)
    return Table(f"losses_by_{by}", f"Losses by {by}", columns, lines, _NOTE if by == "class" else "")

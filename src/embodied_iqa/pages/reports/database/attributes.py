"""Chapter: what distortions do to low-level attributes of the images."""

from __future__ import annotations

import numpy as np

from embodied_iqa.data.analysis.attributes import AttributeTable
from embodied_iqa.data.analysis.study import TOTAL, Study
from embodied_iqa.pages.reports.database.by_group import title_of
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table


def chapter(study: Study) -> Chapter:
    """Return the chapter."""
    return Chapter(
        "attributes",
        "What distortions do to the images",
        "Low-level attributes of the images, without any subject.",
        "Its numbers are not available.",
        (
            Part("By distortion", (_means(study.attributes),)),
            Part("Against the scores", (_correlations(study),)),
        ),
    )


def _means(table: AttributeTable) -> Table:
    """Mean change of each attribute by distortion, in percent of the references' mean."""
    columns = [
        Column("Distortion"),
        Column("Images"),
        *(Column(f"{_title(name)}, %", 0, name=f"{name}_change_percent") for name in table.names),
        *(Column(name, name=f"{name}_mean", shown=False) for name in table.names),
    ]
    base = np.abs(table.rows[0].means)
    rows: list[Row] = []
    for row in table.rows:
        label = distortion_label(row.distortion_id) if row.distortion_id else "References"
        with np.errstate(divide="ignore", invalid="ignore"):
            changes = 100 * np.array(row.changes) / base
        rows.append((label, row.count, *map(float, changes), *row.means))
    note = (
        "Mean change of each attribute from the reference to the distorted image, in percent of the "
        "references' mean; all levels together. Sharpness falls where blur grows. The CSV file has the "
        "means too."
    )
    return Table("attributes", "Low-level attributes", columns, rows, note)


def _correlations(study: Study) -> Table:
    """SRCC of the change of each attribute with the mean opinions."""
    found = study.attributes
    columns = [
        Column("Attribute"),
        *(Column(group.title(), name=f"{group}_srcc") for group in found.correlations),
    ]
    rows: list[Row] = [
        (_title(name), *(correlations[index].value for correlations in found.correlations.values()))
        for index, name in enumerate(found.names)
    ]
    rows.append(
        ("Noise ceiling", *(study.groups[group].ceilings[TOTAL].ceiling for group in found.correlations))
    )
    note = (
        "SRCC of the absolute change of an attribute with the mean opinion, over all pairs; negative where a "
        "larger change means a lower score. Noise ceiling: the largest size that a "
        "correlation with the mean opinion can have."
    )
    return Table("attributes_srcc", "Attributes against scores", columns, rows, note)


def _title(name: str) -> str:
    return title_of(name.replace("_", " "))

"""A subject as `dataset.json` has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embodied_iqa.database.building.step_annotate import SubjectKey
from embodied_iqa.database.store import Row
from embodied_iqa.images.frame import View
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.protocols import SubjectInfo

__all__ = ["subject_key", "subject_tree"]


def subject_tree(key: SubjectKey) -> Row:
    """Return what the record keeps of a subject."""
    return {
        "name": key.name,
        "role": str(key.role),
        "says": key.info.name,
        "version": key.info.version,
        "description": key.info.description,
        "views": [str(view) for view in key.info.views],
        "any_view": key.info.any_view,
    }


def subject_key(item: Row) -> SubjectKey:
    """Return the subject of an entry that `subject_tree` made; older ones do not know `any_view`."""
    views: Sequence[Any] = item["views"]
    info = SubjectInfo(
        item["says"],
        item["version"],
        item["description"],
        tuple(View(view) for view in views),
        any_view=item.get("any_view", False),
    )
    return SubjectKey(item["name"], Role(item["role"]), info)

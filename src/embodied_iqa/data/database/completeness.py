"""Which answers a database lacks: what a build that has not ended still has to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from embodied_iqa.data.database.schema import ANNOTATIONS
from embodied_iqa.data.database.store import DatabaseStore

KEY: Final = ["image", "task_id"]
"""What an answer is about: a pair or a reference, and a task."""


def wanted_answers(store: DatabaseStore) -> Any:
    """Return a table of the keys that each subject answers in a complete database."""
    tasks = store.tasks(["reference_id", "task_id"])
    pairs = store.pairs(["reference_id", "pair_id"])
    of_pairs = pairs.join(tasks, "reference_id", join_type="inner").select(["pair_id", "task_id"])
    both = pa.concat_tables(
        [tasks.rename_columns(KEY), of_pairs.rename_columns(KEY)], promote_options="permissive"
    )
    return both.group_by(KEY).aggregate([])


def answer_keys(table: Any) -> Any:
    """Return the keys of answers, from their columns ``reference_id``, ``pair_id`` and ``task_id``."""
    return pa.table([pc.coalesce(table["pair_id"], table["reference_id"]), table["task_id"]], names=KEY)


def answers_of(store: DatabaseStore, subject: str, columns: list[str]) -> Any:
    """Return columns of a subject's answers."""
    empty = ANNOTATIONS.empty_table().select(columns)
    return pa.concat_tables([empty, *store.annotation_parts(subject, columns)])


def failed_subjects(store: DatabaseStore, names: Iterable[str]) -> list[str]:
    """Return those of some subjects that have rows of answers, all of them failures."""
    errors = {name: answers_of(store, name, ["error"])["error"] for name in names}
    return [name for name, column in errors.items() if len(column) and not column.null_count]


def begun_subjects(store: DatabaseStore, names: Iterable[str]) -> dict[str, int]:
    """Return those of some subjects that have answers but not all of them, and how many they lack."""
    begun = [name for name in names if store.annotation_files(name)]
    if not begun or not {"pairs", "tasks"} <= store.tables().keys():
        return {}
    wanted, lacking = wanted_answers(store), {}
    for name in begun:
        keys = answer_keys(answers_of(store, name, ["reference_id", "pair_id", "task_id"]))
        if missing := wanted.join(keys, KEY, join_type="left anti").num_rows:
            lacking[name] = missing
    return lacking

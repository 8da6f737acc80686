"""Reads a database into arrays."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.analysis.attributes import ATTRIBUTES, PairAttributes
from embodied_iqa.data.analysis.execution_correlation import ExecutionRuns
from embodied_iqa.data.analysis.grid import (
    LOSSES,
    PARTS,
    TASKS_OF_SCALE,
    Group,
    GroupScores,
    PairTable,
    ScoreGrid,
    ViewCount,
)
from embodied_iqa.data.database.store import DatabaseStore

Array = NDArray[np.float64]
_TOTAL: Final = "score"
_REFUSED: Final = "refused"
_COLUMNS: Final = (
    "subject",
    "role",
    "pair_id",
    "view",
    "own_view",
    _TOTAL,
    _REFUSED,
    *(part for parts in PARTS.values() for part in parts),
)


def load_grid(store: DatabaseStore, *, all_views: bool = False) -> ScoreGrid:
    """Read the scores of a database.

    Args:
        store: The database.
        all_views: Also count scores for views that the subject is not made for.

    Raises:
        InputError: Tables are missing, damaged or inconsistent, or no subject is made for a view of the
            references.
    """
    pairs = _pairs(store)
    scores = store.scores(_COLUMNS)
    own = pc.or_(scores["own_view"], pa.scalar(all_views))
    counted, others = scores.filter(own), scores.filter(pc.invert(own))
    expected = _tasks_of_pairs(store, pairs)
    groups = {}
    for group in Group:
        rows, left_out = (
            table.filter(pc.equal(table["role"], str(group.role))) for table in (counted, others)
        )
        if rows.num_rows:
            groups[group] = _group(group, rows, left_out, pairs, expected)
    if others.num_rows and not groups:
        raise InputError(f"no subject is made for the views of {store.path}", expected="--all-views")
    if not groups:
        raise InputError(f"{store.path} has no scores", expected="a database whose step `score` is done")
    return ScoreGrid(pairs, groups, _view_counts(pairs, scores, counted), all_views)


def load_attributes(store: DatabaseStore, pairs: PairTable) -> PairAttributes:
    """Read the low-level attributes of the distorted images and their references."""
    distorted = _rows(store.pairs(["pair_id", *ATTRIBUTES]), "pair_id", pairs.pair_ids)
    reference = _rows(store.references(["reference_id", *ATTRIBUTES]), "reference_id", pairs.reference_ids)
    return PairAttributes(
        ATTRIBUTES,
        np.stack([_numbers(distorted[name]) for name in ATTRIBUTES], axis=1),
        np.stack([_numbers(reference[name]) for name in ATTRIBUTES], axis=1),
    )


def _rows(table: Any, key: str, values: NDArray[np.str_]) -> Any:
    """Return the row of a table for each key."""
    return table.take(pc.index_in(pa.array(values), value_set=table[key].combine_chunks()))


def runs_of_table(table: Any) -> ExecutionRuns:
    """Return the runs on distorted images of an experiment's table."""
    rows = table.filter(pc.not_equal(table["distortion_id"], ""))
    # execution is relative to the reference run: if that failed, it means nothing
    counted = np.asarray(pc.equal(rows["reference_outcome"], "success"))
    return ExecutionRuns(
        _words(rows["subject"]),
        _words(rows["distortion_id"]),
        rows["level"].to_numpy().astype(np.int64),
        np.where(counted, _numbers(rows["execution_score"]), np.nan),
        {group: _numbers(rows[f"{group}_score"]) for group in Group},
    )


def _pairs(store: DatabaseStore) -> PairTable:
    pairs = store.pairs(["pair_id", "reference_id", "distortion_id", "level"]).sort_by("pair_id")
    if pc.count_distinct(pairs["pair_id"]).as_py() != pairs.num_rows:
        raise InputError(f"{store.pairs_file} holds a pair twice")
    columns = ["reference_id", "source", "real", "view", "person", "main_object", "background"]
    references = store.references(columns)
    rows = pc.index_in(
        pairs["reference_id"].combine_chunks(), value_set=references["reference_id"].combine_chunks()
    )
    if rows.null_count:
        raise InputError(
            f"{store.pairs_file} holds pairs of references that do not exist", got=rows.null_count
        )
    own = references.take(rows)
    origins = np.where(np.asarray(own["real"]), "real", "simulation")
    sources = _words(own["source"])
    # only where it tells more than the origin, such as LIBERO from the simulated cell
    more = {"source": sources} if len(np.unique(sources)) > len(np.unique(origins)) else {}
    return PairTable(
        _words(pairs["pair_id"]),
        _words(pairs["reference_id"]),
        _words(pairs["distortion_id"]),
        pairs["level"].to_numpy().astype(np.int64),
        {
            "view": _words(own["view"]),
            "person": _words(own["person"]),
            "origin": origins,
            **more,
            "main object": _words(own["main_object"]),
            "background": _words(own["background"]),
        },
    )


def _tasks_of_pairs(store: DatabaseStore, pairs: PairTable) -> NDArray[np.int64]:
    """Return ``(pairs,)`` the number of tasks of the pair's reference."""
    count = Counter(store.tasks(["reference_id"])["reference_id"].to_pylist())
    return np.array([count[name] for name in pairs.reference_ids.tolist()], dtype=np.int64)


def _view_counts(pairs: PairTable, answered: Any, counted: Any) -> tuple[ViewCount, ...]:
    def subjects(table: Any, view: str) -> dict[Group, int]:
        rows = table.filter(pc.equal(table["view"], view))
        return {
            group: pc.count_distinct(rows.filter(pc.equal(rows["role"], str(group.role)))["subject"]).as_py()
            for group in Group
        }

    views = pairs.labels["view"]
    return tuple(
        ViewCount(
            view,
            len(np.unique(pairs.reference_ids[views == view])),
            subjects(answered, view),
            subjects(counted, view),
        )
        for view in np.unique(views).tolist()
    )


def _group(
    group: Group, rows: Any, left_out: Any, pairs: PairTable, expected: NDArray[np.int64]
) -> GroupScores:
    subjects = tuple(sorted(pc.unique(rows["subject"]).to_pylist()))
    left_out = left_out.filter(pc.is_in(left_out["subject"], value_set=pa.array(subjects)))
    shape = (len(pairs), len(subjects))
    cells = _cells(rows, subjects, pairs)
    totals = _sums(cells, _numbers(rows[_TOTAL]), shape, expected)
    parts = {part: _sums(cells, _numbers(rows[part]), shape, expected) for part in PARTS[group]}
    elsewhere = np.zeros(shape, np.bool_)
    elsewhere.ravel()[_cells(left_out, subjects, pairs)] = True
    missing = (np.isnan(totals) & ~elsewhere).sum(axis=0).astype(np.int64)
    losses = {}
    if group is Group.DECISION:
        refused, lost = _numbers(rows[_REFUSED]), 1.0 - _numbers(rows[_TOTAL])
        values = (refused, refused * lost, (1.0 - refused) * lost)
        losses = {name: _sums(cells, one, shape, expected) for name, one in zip(LOSSES, values, strict=True)}
    return GroupScores(group, subjects, parts, totals, missing, elsewhere, losses)


def _cells(rows: Any, subjects: tuple[str, ...], pairs: PairTable) -> NDArray[np.int64]:
    """Return ``(rows,)`` the flat index of each row in an array of pairs by subjects."""
    found = pc.index_in(rows["pair_id"].combine_chunks(), value_set=pa.array(pairs.pair_ids))
    if found.null_count:
        raise InputError("scores name pairs that do not exist", got=found.null_count)
    columns = np.asarray(pc.index_in(rows["subject"].combine_chunks(), value_set=pa.array(subjects)))
    cells: NDArray[np.int64] = np.asarray(found).astype(np.int64) * len(subjects) + columns
    return cells


def _sums(
    cells: NDArray[np.int64], values: Array, shape: tuple[int, int], expected: NDArray[np.int64]
) -> Array:
    """Return five times the mean over the tasks of each cell; NaN if a task has no score."""
    known = np.isfinite(values)
    size = shape[0] * shape[1]
    counts = np.bincount(cells[known], minlength=size).reshape(shape)
    if (counts > expected[:, None]).any():
        raise InputError("a pair has more scores than tasks; the scores hold a row twice")
    sums = np.bincount(cells[known], values[known], minlength=size).reshape(shape)
    complete = (counts == expected[:, None]) & (counts > 0)
    scaled: Array = np.where(complete, sums / np.maximum(1, counts) * TASKS_OF_SCALE, np.nan)
    return scaled


def _words(column: Any) -> NDArray[np.str_]:
    return np.array(["" if word is None else word for word in column.to_pylist()], dtype=np.str_)


def _numbers(column: Any) -> Array:
    """Return float64; null becomes NaN."""
    numbers: Array = np.asarray(pc.cast(column, pa.float64()).to_numpy())
    return numbers

"""From Parquet to arrays, held against pandas; broken databases are refused; execution is joined."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from database_folders import ATTRIBUTES, write_database, write_experiment
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import write_table
from embodied_iqa.data.analysis.attributes import attribute_table
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.loading import load_attributes, load_grid, runs_of_table
from embodied_iqa.data.analysis.study import TOTAL, study
from embodied_iqa.data.database.joined_runs import join_execution, joined_execution
from embodied_iqa.data.database.run_rows import GateEffects
from embodied_iqa.data.database.schema import PAIRS, SCORES, TASKS
from embodied_iqa.data.database.store import DatabaseStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    return write_database(tmp_path_factory.mktemp("database"))


def test_totals_are_the_sums_over_tasks_that_pandas_gives(store: DatabaseStore) -> None:
    grid = load_grid(store)
    table = store.scores().to_pandas()
    for group, role, part in ((Group.COGNITION, "vlm", "semantics"), (Group.DECISION, "vla", "rotation")):
        rows = table[table["role"] == role]
        for column, found in (("score", grid.groups[group].total), (part, grid.groups[group].parts[part])):
            expected = rows.pivot_table(index="pair_id", columns="subject", values=column, aggfunc="sum")
            assert list(expected.index) == grid.pairs.pair_ids.tolist()
            assert tuple(expected.columns) == grid.groups[group].subjects
            np.testing.assert_allclose(found, expected.to_numpy())


def test_labels_come_from_the_references(store: DatabaseStore) -> None:
    pairs = load_grid(store).pairs
    joined = store.pairs().to_pandas().merge(store.references().to_pandas(), on="reference_id")
    joined = joined.sort_values("pair_id")
    assert pairs.labels["person"].tolist() == joined["person"].tolist()
    assert pairs.labels["background"].tolist() == joined["background"].fillna("").tolist()
    assert (pairs.labels["origin"] == np.where(joined["real"], "real", "simulation")).all()


def test_order_of_rows_in_the_files_changes_nothing(store: DatabaseStore, tmp_path: Path) -> None:
    other = write_database(tmp_path / "other")
    rng = np.random.default_rng(0)
    for file, schema in ((other.scores_file, SCORES), (other.pairs_file, PAIRS), (other.tasks_file, TASKS)):
        table = pa.parquet.read_table(file)
        write_table(file, table.take(rng.permutation(table.num_rows)), schema)
    ours, theirs = load_grid(store), load_grid(other)
    for group in Group:
        np.testing.assert_allclose(ours.groups[group].total, theirs.groups[group].total, rtol=1e-12)
    a, b = (study(grid, load_attributes(s, grid.pairs), None) for grid, s in ((ours, store), (theirs, other)))
    assert a.between_raw.value == pytest.approx(b.between_raw.value)
    assert a.groups[Group.DECISION].thirds.counts == b.groups[Group.DECISION].thirds.counts


def test_a_task_without_score_leaves_the_pair_out_and_is_counted(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db")
    table = store.scores()
    first = pc.and_(pc.equal(table["subject"], "vla-1"), pc.equal(table["rank"], 3))
    first = pc.and_(first, pc.equal(table["pair_id"], "r00002-07"))
    for name in ("score", "position", "rotation", "state"):
        column = pc.if_else(first, pa.scalar(None, pa.float64()), table[name])
        table = table.set_column(table.schema.get_field_index(name), SCORES.field(name), column)
    write_table(store.scores_file, table, SCORES)
    grid = load_grid(store)
    scores = grid.groups[Group.DECISION]
    assert scores.missing.tolist() == [0, 1, 0]
    row = grid.pairs.pair_ids.tolist().index("r00002-07")
    assert np.isnan(scores.total[row]).tolist() == [False, True, False]
    assert study(grid, load_attributes(store, grid.pairs), None).groups[Group.DECISION].opinion.partial == 1


def test_subjects_count_only_for_their_own_views(tmp_path: Path) -> None:
    homes = {"vlm-0": "top", "vlm-1": "top", "vla-1": "wrist", "vla-2": "top"}
    store = write_database(tmp_path / "db", references=7, homes=homes)
    own, every = load_grid(store), load_grid(store, all_views=True)
    rows = store.scores().to_pandas()
    for group, role in ((Group.COGNITION, "vlm"), (Group.DECISION, "vla")):
        own_view = rows[(rows["role"] == role) & rows["own_view"]]
        expected = own_view.pivot_table("score", "pair_id", "subject", "sum")
        scores = own.groups[group]
        np.testing.assert_allclose(scores.total, expected.reindex(own.pairs.pair_ids).to_numpy())
        assert scores.missing.tolist() == [0, 0, 0], "what a subject should not look at is not missing"
        assert np.isfinite(every.groups[group].total).all()
        assert not every.groups[group].elsewhere.any()
    assert own.groups[Group.COGNITION].elsewhere.sum(axis=0).tolist() == [5 * 30, 5 * 30, 0]
    found = study(own, load_attributes(store, own.pairs), None).groups[Group.COGNITION]
    assert (found.opinion.partial, found.opinion.absent, found.opinion.unseen) == (0, 0, 0)
    assert [row.elsewhere for row in found.subjects] == [5 * 30, 5 * 30, 0]
    counts = {one.view: (one.references, one.counted[Group.COGNITION]) for one in own.views}
    assert counts == {"wrist": (3, 1), "top": (2, 3), "side": (2, 1)}
    assert {one.counted[Group.DECISION] for one in every.views} == {3}


def test_references_without_a_subject_for_their_view_are_counted(tmp_path: Path) -> None:
    homes = {f"{role}-{n}": "top" for role in ("vlm", "vla") for n in range(3)}
    store = write_database(tmp_path / "db", homes=homes)
    grid = load_grid(store)
    opinion = study(grid, load_attributes(store, grid.pairs), None).groups[Group.DECISION].opinion
    assert (opinion.partial, opinion.absent, opinion.unseen) == (0, 0, 4 * 30)
    assert np.isfinite(opinion.raw).sum() == 2 * 30
    nowhere = write_database(tmp_path / "none", homes=dict.fromkeys(homes, "moon"))
    with pytest.raises(InputError, match=r"made for the views.*--all-views"):
        load_grid(nowhere)
    assert load_grid(nowhere, all_views=True).groups


def test_contradicting_tables_are_refused(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=2)
    scores, pairs = store.scores(), store.pairs()
    write_table(store.scores_file, pa.concat_tables([scores, scores.slice(0, 1)]), SCORES)
    with pytest.raises(InputError, match="hold a row twice"):
        load_grid(store)
    write_table(store.scores_file, scores, SCORES)
    write_table(store.pairs_file, pairs.slice(1), PAIRS)
    with pytest.raises(InputError, match="pairs that do not exist"):
        load_grid(store)
    write_table(store.pairs_file, pairs, PAIRS)
    write_table(store.scores_file, scores.slice(0, 0), SCORES)
    with pytest.raises(InputError, match="has no scores"):
        load_grid(store)


def test_attributes_are_those_of_pandas(store: DatabaseStore) -> None:
    pairs = load_grid(store).pairs
    opinion = np.arange(len(pairs), dtype=float)
    found = attribute_table(load_attributes(store, pairs), pairs, {Group.COGNITION: opinion})
    joined = store.pairs().to_pandas().merge(
        store.references().to_pandas(), on="reference_id", suffixes=("", "_of_reference")
    )  # fmt: skip
    for column, name in enumerate(ATTRIBUTES):
        joined["change"] = joined[name] - joined[f"{name}_of_reference"]
        expected = joined.groupby("distortion_id")["change"].mean()
        np.testing.assert_allclose([row.changes[column] for row in found.rows[1:]], expected.to_numpy())
        ranks = pd.Series(opinion).corr(joined.sort_values("pair_id")["change"].abs().reset_index(drop=True),
                                        method="spearman")  # fmt: skip
        assert found.correlations[Group.COGNITION][column].value == pytest.approx(ranks)


def test_execution_is_joined_replaced_and_read_back(store: DatabaseStore, tmp_path: Path) -> None:
    first, second = write_experiment(tmp_path / "a", 0), write_experiment(tmp_path / "b", 1)
    assert joined_execution(store) is None
    assert join_execution(store, [first, second]) == 2 * 31 * 6
    assert join_execution(store, [second]) == 31 * 6
    table = joined_execution(store)
    runs = runs_of_table(table)
    assert len(runs.execution) == 30 * 6
    assert np.isnan(runs.execution).sum() == 30, "runs held against a failed reference run do not count"
    grid = load_grid(store)
    found = study(grid, load_attributes(store, grid.pairs), runs).execution
    assert found.over_runs[Group.DECISION].value > 0.5
    assert found.over_runs[Group.COGNITION].undefined is not None


def test_the_same_run_twice_and_folders_without_results_are_refused(
    store: DatabaseStore, tmp_path: Path
) -> None:
    folder = write_experiment(tmp_path / "a")
    with pytest.raises(InputError, match="twice"):
        join_execution(store, [folder, folder])
    with pytest.raises(InputError, match=r"has no runs\.parquet"):
        join_execution(store, [tmp_path])
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="other columns"):
        join_execution(store, [tmp_path])


def test_runs_of_earlier_versions_are_joined_and_compared_gates_are_refused(
    store: DatabaseStore, tmp_path: Path
) -> None:
    folder = write_experiment(tmp_path / "a")
    file = folder / "runs.parquet"
    table = pq.read_table(file)
    before = table.drop_columns(["arm", *(field.name for field in dataclasses.fields(GateEffects))])
    for older in (before, before.drop_columns(["schedule"])):
        pq.write_table(older, file)
        assert join_execution(store, [folder]) == table.num_rows
    at = before.column_names.index("schedule")
    pq.write_table(before.set_column(at, "schedule", pa.array(["burst:length=1"] * table.num_rows)), file)
    with pytest.raises(InputError, match="level changes over time"):
        join_execution(store, [folder])
    for name, cells in (("gate_mode", ["on"]), ("arm", ["learned", "oracle"])):
        column = pa.array((cells * table.num_rows)[: table.num_rows])
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, file)
    with pytest.raises(InputError, match=r"compares gates; expected one gate; got 'learned, oracle'"):
        join_execution(store, [folder])


def test_a_lone_subject_has_no_ceiling_and_no_agreement(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", subjects=1)
    grid = load_grid(store)
    found = study(grid, load_attributes(store, grid.pairs), None).groups[Group.COGNITION]
    assert np.isnan(found.agreements[TOTAL].mean)
    assert found.ceilings[TOTAL].splits == 0
    assert found.subjects[0].with_others.undefined is not None

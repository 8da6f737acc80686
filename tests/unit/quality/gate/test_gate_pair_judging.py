"""A gate judges each pair of a database once, and its verdicts replace those of an earlier gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database_folders import write_database
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.data.database.schema import PAIRS, Pair
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.verdicts import PairVerdict, stored_verdicts
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.pair_judging import judge_pairs
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from judged_database import exposures_of, write_exposure_gate

UNCALIBRATED = Gatekeeper(StatisticsJudge(()), GateOptions())


@pytest.fixture
def store(tmp_path: Path) -> DatabaseStore:
    return write_database(tmp_path / "made", references=2, images=True)


def _verdicts(store: DatabaseStore) -> list[PairVerdict]:
    table = stored_verdicts(store)
    assert table is not None
    return rows_of(PairVerdict, table)


def test_each_pair_gets_the_verdict_on_its_image(store: DatabaseStore) -> None:
    judge = StatisticsJudge(load_calibrations(write_exposure_gate(store)))
    seen: list[str] = []

    def progress(pairs: Iterable[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            seen.append(pair.pair_id)
            yield pair

    counts = judge_pairs(store, Gatekeeper(judge, GateOptions()), "mine", progress)
    exposures, pairs = exposures_of(store), rows_of(Pair, store.pairs())
    level = np.median(list(exposures.values()))
    rows = _verdicts(store)
    assert [(row.pair_id, row.sha256) for row in rows] == [(pair.pair_id, pair.sha256) for pair in pairs]
    assert seen == [pair.pair_id for pair in pairs]
    for row in rows:
        is_dark = exposures[row.pair_id] < level
        assert (row.verdict, bool(row.reason)) == (("hold", True) if is_dark else ("pass", False))
    dark = sum(exposure < level for exposure in exposures.values())
    assert counts == {"hold": dark, "pass": len(pairs) - dark}
    assert {row.gate for row in rows} == {"mine"}
    assert store.record().sha256[store.verdicts_file.name] == sha256_of(store.verdicts_file)


def test_another_gate_replaces_the_verdicts(store: DatabaseStore) -> None:
    judge = StatisticsJudge(load_calibrations(write_exposure_gate(store)))
    judge_pairs(store, Gatekeeper(judge, GateOptions()), "first")
    count = len(_verdicts(store))
    assert judge_pairs(store, UNCALIBRATED, "second") == {"reject": count}, "no camera is calibrated"
    assert {(row.verdict, row.gate) for row in _verdicts(store)} == {("reject", "second")}


def test_a_file_of_the_user_is_not_replaced(store: DatabaseStore) -> None:
    store.verdicts_file.write_bytes(b"mine")
    with pytest.raises(InputError, match="cannot be read"):
        judge_pairs(store, UNCALIBRATED, "none")
    assert store.verdicts_file.read_bytes() == b"mine"


def test_nothing_is_judged_while_a_builder_works(store: DatabaseStore) -> None:
    with (
        JobFolder(store.path, "database build").locked(),
        pytest.raises(InputError, match="another database build works"),
    ):
        judge_pairs(store, UNCALIBRATED, "none")
    assert not store.verdicts_file.exists()


def test_a_pair_of_an_unknown_reference_is_named(store: DatabaseStore) -> None:
    first, *rest = rows_of(Pair, store.pairs())
    lost = replace(first, reference_id="nobody")
    write_table(store.pairs_file, table_of(Pair, [lost, *rest]), PAIRS)
    with pytest.raises(InputError, match=rf"pair {first.pair_id} has an unknown reference; got 'nobody'"):
        judge_pairs(store, UNCALIBRATED, "none")
    assert not store.verdicts_file.exists()

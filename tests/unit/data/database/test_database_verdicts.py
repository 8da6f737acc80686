"""Verdicts of a gate on the pairs of a database: made, stored, checked, shown."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database_folders import write_database
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.query import query
from embodied_iqa.data.database.schema import PAIRS, Pair
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.verdicts import VERDICTS, PairVerdict, merge_verdicts, stored_verdicts
from embodied_iqa.pages.studio.browse.filters import Filters, filters_from
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.pages.studio.browse.table_page import find
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.pair_judging import judge_pairs
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from judged_database import exposures_of, write_exposure_gate
from studio_client import client_of


@pytest.fixture
def judged(tmp_path: Path) -> DatabaseStore:
    store = write_database(tmp_path / "made", references=3, images=True)
    assert main(["db", "judge", str(store.path), "--calibration", str(write_exposure_gate(store))]) == 0
    return store


def test_dark_images_are_held_and_the_studio_selects_them(judged: DatabaseStore) -> None:
    exposures = exposures_of(judged)
    level = np.median(list(exposures.values()))
    dark = {name for name, exposure in exposures.items() if exposure < level}
    held = query(judged, "SELECT pair_id, reason, gate FROM verdicts WHERE verdict = 'hold'").to_pylist()
    assert {row["pair_id"] for row in held} == dark
    assert all(row["reason"] and row["gate"] == "gate.yaml, statistics" for row in held)
    overview = Overview(judged)
    assert overview.choices.verdicts == ("pass", "hold")
    found = find(overview, Filters(verdict="hold"))
    assert {row["pair_id"] for row in found.rows} == dark
    first = [row["verdict"] for row in find(overview, Filters(sort="verdict", down=True)).rows]
    assert first == ["hold"] * len(dark) + ["pass"] * (len(first) - len(dark)), "by severity"
    client, _ = client_of(judged.path)
    assert 'name="verdict"' in client.get("/db/made?verdict=hold&sort=verdict").text
    assert client.get("/db/made?verdict=reject").status_code == 400
    page = client.get(f"/db/made/pair/{held[0]['pair_id']}").text
    assert "gate.yaml, statistics" in page
    assert held[0]["reason"] in page


def test_a_gate_of_other_images_is_refused_or_named(
    judged: DatabaseStore, capsys: pytest.CaptureFixture[str]
) -> None:
    before, gate = judged.verdicts_file.read_bytes(), judged.path / "gate.yaml"
    calibrated = gate.read_text(encoding="utf-8")
    command = ["db", "judge", str(judged.path), "--calibration", str(gate)]
    gate.write_text(calibrated.replace("width_px: 32", "width_px: 640"), encoding="utf-8")
    capsys.readouterr()
    assert main(command) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "side 32x24, top 32x24, wrist 32x24; nothing is judged" in line
    assert "available: side 640x24, top 640x24, wrist 640x24" in line
    assert judged.verdicts_file.read_bytes() == before
    gate.write_text(calibrated.replace("width_px: 32", "width_px: 640", 1), encoding="utf-8")
    note = "note: not calibrated, every image is rejected: side 32x24\n"
    assert main(command) == 0
    assert note in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["reject"] == len(exposures_of(judged)) // 3
    assert note in shown.err
    gate.write_text(calibrated, encoding="utf-8")
    assert main(command) == 0
    assert "note:" not in capsys.readouterr().out


def test_without_verdicts_there_is_no_column(tmp_path: Path) -> None:
    store = write_database(tmp_path / "made", references=1)
    assert filters_from({}, Overview(store).choices).verdict == ""
    client, _ = client_of(store.path)
    assert "Gate" not in client.get("/db/made").text


def test_verdicts_on_other_images_do_not_count(judged: DatabaseStore) -> None:
    rows = rows_of(Pair, judged.pairs())
    write_table(judged.pairs_file, table_of(Pair, [replace(rows[0], sha256="1" * 64), *rows[1:]]), PAIRS)
    row = Overview(judged).rows("SELECT verdict FROM overview WHERE pair_id = ?", [rows[0].pair_id])[0]
    assert row["verdict"] is None
    assert "1 verdicts are on other images: judge again" in check_database(judged, images=False).remarks


def test_the_check_knows_the_table(judged: DatabaseStore, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    main(["db", "check", str(judged.path), "--no-images", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["counts"]["verdicts"] == len(exposures_of(judged))
    assert not [line for line in report["errors"] if "verdict" in line]
    judged.verdicts_file.write_bytes(judged.verdicts_file.read_bytes() + b" ")
    assert any("verdicts.parquet" in line for line in check_database(judged, images=False).errors)


def test_a_merged_database_keeps_the_verdicts_on_its_images(
    judged: DatabaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pair that both have judged keeps the verdict of the first; one on another image is left out."""
    other = tmp_path / "other"
    shutil.copytree(judged.path, other)
    judge_pairs(DatabaseStore(other), Gatekeeper(StatisticsJudge(()), GateOptions()), "none")
    rows = rows_of(PairVerdict, stored_verdicts(judged))
    outdated = replace(rows[0], sha256="1" * 64)
    write_table(judged.verdicts_file, table_of(PairVerdict, [outdated, *rows[2:]]), VERDICTS)
    merged = tmp_path / "merged"
    assert main(["db", "merge", str(judged.path), str(other), "--out", str(merged), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["database"], printed["counts"]["pairs"]) == (str(merged), len(rows))
    found = {row.pair_id: row for row in rows_of(PairVerdict, stored_verdicts(DatabaseStore(merged)))}
    assert {name: row.gate for name, row in found.items()} == dict.fromkeys(
        (row.pair_id for row in rows), "gate.yaml, statistics"
    ) | {rows[0].pair_id: "none", rows[1].pair_id: "none"}
    assert [found[row.pair_id] for row in rows[2:]] == rows[2:]
    report = check_database(DatabaseStore(merged), images=False)
    assert not [line for line in (*report.errors, *report.remarks) if "verdict" in line]


def test_databases_without_verdicts_merge_to_one_without(tmp_path: Path) -> None:
    stores = [write_database(tmp_path / name, references=1, images=True) for name in ("a", "b")]
    merge_verdicts(stores, stores[0])
    assert not stores[0].verdicts_file.exists()

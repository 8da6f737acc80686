"""`embodied-iqa manipulate`: episodes and the grid's ceiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.suites.cell_manipulation.making import EPISODES_FILE


def test_make_writes_the_subsets_in_the_order_of_the_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["manipulate", "make", "--subset", "visual,base", "--out", str(tmp_path), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["subsets"] == {"base": 48, "visual": 36}
    assert len((tmp_path / EPISODES_FILE).read_text(encoding="utf-8").splitlines()) == 84


def test_make_names_the_subsets_where_one_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manipulate", "make", "--subset", "spacial", "--out", str(tmp_path)]) == 2
    assert "did you mean spatial" in capsys.readouterr().err
    assert not (tmp_path / EPISODES_FILE).exists()


def test_ceiling_reports_success_by_task_and_subset_and_writes_the_actions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manipulate", "make", "--subset", "base", "--out", str(tmp_path)]) == 0
    path = tmp_path / EPISODES_FILE
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[::24]), encoding="utf-8")
    runs = tmp_path / "runs.json"
    capsys.readouterr()
    assert main(["manipulate", "ceiling", str(tmp_path), "--out", str(runs), "--json"]) == 0
    shares = json.loads(capsys.readouterr().out)
    assert shares["all"]["episodes"] == 2
    assert set(shares) == {"all", "place", "insert", "base"}
    assert [len(run["actions"]) == run["steps"] for run in json.loads(runs.read_text())] == [True, True]


def test_ceiling_refuses_a_wrong_number_of_workers(tmp_path: Path) -> None:
    assert main(["manipulate", "ceiling", str(tmp_path), "--workers", "0"]) == 2

"""`embodied-iqa train panel` and `evaluate panel`: wrong words end in one line, right ones in numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.models.panel.panel_members import members_in


@pytest.mark.parametrize(
    "words",
    [
        ["train", "panel", "--out", "x", "--members", "nobody"],
        ["train", "panel", "--out", "x", "--workers", "0"],
        ["train", "panel", "--out", "x", "--epochs", "0", "--members", "panel-vla-object"],
        ["train", "panel"],
        ["evaluate", "panel", "--members", "nobody"],
        ["evaluate", "panel", "--scenes", "2", "--grid-scenes", "3"],
        ["evaluate", "panel", "--distortions", "nothing-known"],
        ["evaluate", "panel", "--cards"],
    ],
)
def test_wrong_words_are_a_usage_error(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_holds_no_panel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "panel", "--models-dir", str(tmp_path)]) == 1
    assert "no members of the panel" in capsys.readouterr().err


def test_an_evaluation_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = members_in()[0]
    words = ["--scenes", "2", "--members", name, "--distortions", "none", "--workers", "1", "--json"]
    assert main(["evaluate", "panel", *words, "--out", str(tmp_path / "page.md")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["member"] for row in record["vlas"]] == [name]
    assert record["vlas"][0]["success"]["n"] == 2
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith("# The embedded panel")

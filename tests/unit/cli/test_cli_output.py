"""What commands print: the next command, tables within 80 columns, the script of shell completion."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.cli.experiment.table import print_table
from embodied_iqa.cli.main import main, parse
from embodied_iqa.cli.output import console, next_command, program, table_of
from embodied_iqa.cli.results import results_table
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.runs.experiment.scores import MeanRow
from embodied_iqa.runs.trial.scores import Cognition, Decision, Execution, Frames, Gate, Latency, RunScores
from live_process import COMPLETION_S

NEXT = "next: embodied-iqa "


@pytest.fixture
def images(tmp_path: Path) -> Path:
    for number in range(24):
        rgb = np.random.default_rng(number).integers(90, 160, (48, 64, 3), dtype=np.uint8)
        write_image(tmp_path / "top" / f"{number:02d}.png", rgb)
    return tmp_path / "top"


def test_commands_end_with_the_next_one_which_is_understood(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [
        "distort list",
        f"distort {images}/00.png --distortion 12:3 --out d --workers 1",
        f"gate calibrate {images} --view top --out gate.yaml",
        f"gate check {images} --view top --calibration gate.yaml",
        "subjects list",
        "subjects show classical-vlm",
        "subjects check classical-vlm",
        "tasks make --scene-seed 3",
    ]
    for command in commands:
        assert main(command.split()) == 0, command
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith(NEXT), command
        parse(shlex.split(last.removeprefix(NEXT)))


@pytest.mark.parametrize(
    "command",
    [
        "distort list",
        "subjects list",
        "subjects show pi0-base",
        "subjects check --all",
        "tasks make --scenes 4",
    ],
)
def test_tables_fit_80_columns(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(command.split()) == 0
    _fits(capsys.readouterr().out)


def _fits(text: str) -> None:
    assert text
    assert max(map(len, text.splitlines())) <= 80
    assert "\u2026" not in text, "a cell is cut"


BURST = "burst:start=1.0,length=1.0,every=0.0"


def test_tables_of_results_fit_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    levels = dict.fromkeys(range(1, 6), 100.0)
    row = MeanRow(
        "23",
        "non-eccentricity-patch",
        "Spatial",
        "statistics",
        BURST,
        1234,
        12,
        0.88,
        10,
        7,
        5,
        77.7,
        12.3,
        levels,
    )
    print_table([row, replace(row, schedule=""), replace(row, distortion_id="all")])
    _fits(capsys.readouterr().out)
    cognition, decision = (
        Cognition(0.5, 0.5, 0.5, 0.5, "", ""),
        Decision(5.0, 5.0, 5.0, 5.0, 0.0, refused=False, answer="", reference_answer="", later=()),
    )
    execution, gate = Execution("emergency_stop", 100.0, 3.0, ""), Gate(GateMode.ON, 123, 456, 789)
    frames, latency_ms = Frames(1368, 1367, 1), Latency(None, None, None)
    spec = DistortionSpec("24", 5)
    scores = RunScores("pick", 7, spec, cognition, decision, execution, gate, frames, latency_ms)
    results_table([scores, replace(scores, distortion=replace(spec, schedule=BURST))])
    text = capsys.readouterr().out
    _fits(text)
    assert "123/456/789" in text
    assert "reject" in text.split(), "the word is not broken"
    assert "(scene 7, gate on)" in text
    results_table([replace(scores, scene_seed=None)])
    assert "pick (gate on)" in capsys.readouterr().out


def _printed(
    capsys: pytest.CaptureFixture[str], headings: tuple[str, ...], row: tuple[str, ...]
) -> list[str]:
    table = table_of(*headings)
    table.add_row(*row)
    console().print(table)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_table_breaks_no_word_and_is_stacked_where_it_would(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    heading, *lines = _printed(capsys, ("what", "measured", "remark"), ("gripper", "0.25", "no " * 20))
    assert heading.split() == ["what", "measured", "remark"]
    assert lines[0].startswith("gripper 0.25     no no")
    assert " ".join(lines).split().count("no") == 20
    full = _printed(capsys, ("four", "four") * 4, ("1234", "5678") * 4)
    assert full == [" ".join(["four"] * 8), " ".join(["1234", "5678"] * 4)]
    stacked = _printed(capsys, tuple(f"column {at}" for at in range(9)), ("reference",) * 9)
    assert stacked == [*(f"column {at}  reference" for at in range(9)), ""]
    path = "runs/" + "x" * 60
    assert _printed(capsys, ("file", "ms"), (path, "1.5"))[1].split() == [path[:36], "1.5"]


def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    script = tmp_path / "new" / "completion.bash"
    assert main(["completion", "bash", "--out", str(script)]) == 0

    def completed(*words: str) -> set[str]:
        line = f"source {script}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
        line += '_shtab_embodied_iqa; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=True, timeout=COMPLETION_S
        )
        return set(done.stdout.split())

    assert {"trial", "train"} <= completed("embodied-iqa", "tr")
    assert completed("embodied-iqa", "gate", "ch") == {"check"}
    assert "--distortion" in completed("embodied-iqa", "trial", "--dist")
    assert completed("embodied-iqa", "export", "--format", "py") == {"pyiqa"}


def test_zsh_and_tcsh_scripts_name_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("zsh", "tcsh"):
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert all(name in script for name in ("distort", "calibrate", "--out"))


def test_the_list_of_distortions_is_whole_in_any_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = {line["id"] for line in _listed(capsys)}
    for columns in ("80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["distort", "list"]) == 0
        shown = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:1].strip()}
        assert ids <= shown


def _listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    assert main(["distort", "list", "--json"]) == 0
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)
    return found


def test_a_program_that_is_not_on_the_path_is_called_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / ".venv" / "bin" / "embodied-iqa"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n", encoding="utf-8")
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(own), "distort", "list"])
    for path, called in ((str(tmp_path), ".venv/bin/embodied-iqa"), (str(own.parent), "embodied-iqa")):
        monkeypatch.setenv("PATH", path)
        next_command("report", "runs/a b")
        assert capsys.readouterr().err == f"next: {called} report 'runs/a b'\n"
    monkeypatch.chdir(own.parent)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == "./embodied-iqa"
    monkeypatch.setattr("sys.argv", [str(tmp_path / "embodied_iqa" / "__main__.py"), "distort"])
    assert program() == f"{shlex.quote(sys.executable)} -m embodied_iqa"

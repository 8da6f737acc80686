"""Every command follows the table of exit codes in docs/reference/commands.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli import main as command_line
from embodied_iqa.cli.main import COMMANDS, main
from embodied_iqa.imaging.images.codecs import write_image

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
MISSING = {
    "trial": ["--config", "{tmp}/none.yaml", "--out", "{tmp}/run"],
    "experiment": ["--config", "{tmp}/none.yaml", "--out", "{tmp}/x"],
    "build": ["--config", "{tmp}/none.yaml", "--out", "{tmp}/db"],
    "annotate": ["--config", "{tmp}/none.yaml", "--out", "{tmp}/db"],
    "db": ["check", "{tmp}/none"],
    "rescore": ["{tmp}/none.mcap"],
    "report": ["{tmp}/none"],
    "export": ["{tmp}/none", "--format", "csv", "--out", "{tmp}/e"],
    "recover": ["{tmp}/none.mcap"],
    "recording": ["info", "{tmp}/none.mcap"],
    "distort": ["{tmp}/none.png", "--distortion", "12:3", "--out", "{tmp}/d"],
    "gate": ["check", "{tmp}/none", "--calibration", "{tmp}/none.yaml"],
    "tasks": ["check", "{tmp}/none.yaml"],
    "train": ["panel", "--out", "/proc/none"],
    "evaluate": ["panel", "--models-dir", "{tmp}/none"],
    "metrics": ["score", "piqe", "{tmp}/none.png"],
    "subjects": ["calibrate", "classical-vla", "--config", "{tmp}/none.yaml"],
}
"""Arguments that name a file or folder which does not exist."""


def documented() -> set[int]:
    page = (source_checkout() or Path()) / "docs" / "reference" / "commands.md"
    return {int(code) for code in re.findall(r"^\| `(\d+)` \|", page.read_text(), flags=re.MULTILINE)}


def test_the_table_lists_every_code() -> None:
    assert documented() == {DONE, FAILED, USAGE, INTERRUPTED}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_done_and_an_unknown_option_is_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == DONE
    assert main([name, "--no-such-option"]) == USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", MISSING)
def test_what_does_not_exist_is_a_failure(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [word.replace("{tmp}", str(tmp_path)) for word in MISSING[name]]
    assert main([name, *arguments]) == FAILED
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_checks_that_find_faults_fail(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", np.zeros((32, 32, 3), np.uint8))
    (tmp_path / "b.png").write_bytes(b"no image")
    assert main(["distort", str(tmp_path), "--distortion", "12:3", "--out", str(tmp_path / "out")]) == FAILED
    (tmp_path / "tasks.yaml").write_text("[]")
    assert main(["tasks", "check", str(tmp_path / "tasks.yaml")]) == FAILED
    assert main(["subjects", "check", "classical-vlm"]) == DONE


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), INTERRUPTED),
        (OSError(28, "No space left on device"), FAILED),
        (PermissionError(13, "Permission denied", "/data/x"), FAILED),
    ],
)
def test_interrupts_and_errors_of_the_system_are_one_line(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(command_line, "_dispatch", fail)
    assert main(["doctor"]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("embodied-iqa: ")
    assert all(str(part) in line for part in error.args[1:])

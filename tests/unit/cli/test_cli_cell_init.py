"""`cell init` asks in words, or names the options; it overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.cell.questions import Questions
from embodied_iqa.cli.main import main


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError("wrong answer", expected="a number", got=text) from None


def test_a_person_is_asked_until_the_answer_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    answers, asked = iter(["x", "0.2", "", "", "7", ""]), []

    def read(question: str) -> str:
        asked.append(question)
        return next(answers)

    questions = Questions(read)
    assert questions.ask("Length [m]", number, 0.1) == 0.2
    assert questions.ask("Length [m]", number, 0.1) == 0.1
    assert questions.ask("Height [m]", number, needed=True) == 7.0
    assert questions.ask("Height [m]", number) is None
    assert "expected a number" in capsys.readouterr().err
    assert asked[0] == "Length [m] [0.1]: "
    assert asked[-1] == "Height [m] [leave out]: "
    assert Questions(None).ask("Length [m]", number, 0.1) == 0.1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--robot-ip --camera --workspace-min --workspace-max --table-z --gate-file --vla, or --yes"),
        (["--robot-ip", "none"], "--camera --gate-file --vla, or --yes"),
        (["--yes"], "--robot-ip --camera"),
    ],
)
def test_without_a_terminal_it_names_every_option_that_is_missing(
    words: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cell", "init", "--out", str(tmp_path / "cell.yaml"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cell.yaml").write_text("mine")
    assert main(["cell", "init", "--out", str(tmp_path / "cell.yaml"), "--yes"]) == 2
    assert "exists" in capsys.readouterr().err
    assert (tmp_path / "cell.yaml").read_text() == "mine"

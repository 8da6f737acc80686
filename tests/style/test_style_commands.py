"""Every sub-command exists, explains itself, and turns a wrong argument into one line."""

from __future__ import annotations

import importlib

import pytest
from style_sources import PACKAGE, imports_of, sources

from embodied_iqa.cli.main import COMMANDS, main


def test_every_module_with_a_command_is_listed() -> None:
    """A file or folder in cli/ with configure and run is a sub-command; a folder holds all parts of one."""
    files = {file.stem: file for file in (PACKAGE / "cli").glob("*.py") if "_" not in file.stem}
    files |= {file.parent.name: file for file in (PACKAGE / "cli").glob("*/__init__.py")}
    offers = {
        f"embodied_iqa.cli.{name}"
        for name, file in files.items()
        if _makes_a_command(file.read_text(encoding="utf-8"))
    }
    assert offers == {module for module, _ in COMMANDS.values()}


def _makes_a_command(text: str) -> bool:
    return "\nconfigure, run = " in text or all(f"\ndef {word}(" in text for word in ("configure", "run"))


def test_commands_import_what_they_call() -> None:
    """`load` returns Any, so that mypy would see no call; only the table of actions is read by name."""
    untyped = [
        source.name
        for source in sources("src/embodied_iqa/cli")
        if "embodied_iqa.base.lazy.load" in {name for _, name in imports_of(source)}
    ]
    assert untyped == ["src/embodied_iqa/cli/parser.py"]


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_its_module(name: str) -> None:
    command = importlib.import_module(COMMANDS[name][0])
    assert callable(command.configure)
    assert callable(command.run)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_exits_with_zero_and_explains(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: embodied-iqa {name}")
    assert len(said.splitlines()) > 5


@pytest.mark.parametrize("name", COMMANDS)
def test_unknown_argument_is_a_usage_error_in_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--no-such-option"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("embodied-iqa: ")


@pytest.mark.parametrize("words", [[], ["gate"], ["recording"], ["evaluate"]])
def test_without_a_command_or_its_action_the_help_is_an_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(words)
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert said.err.startswith(f"usage: {' '.join(['embodied-iqa', *words])} [-h]")


def test_errors_name_the_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "check", "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("embodied-iqa: gate check: the following arguments are required: --calibration")
    assert main(["gate", "chek"]) == 2
    assert capsys.readouterr().err.startswith("embodied-iqa: gate: argument ACTION: invalid choice")


def test_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert all(f"    {name} " in said for name in COMMANDS)


def test_unknown_command_lists_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["triall"]) == 2
    assert "available: " + ", ".join(COMMANDS) in capsys.readouterr().err

"""`embodied-iqa completion`: prints the script with which a shell completes commands and options."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.lazy import INSTALL_DATA, importing
from embodied_iqa.cli import main
from embodied_iqa.cli.parser import Parser, yaml_file

_SHELLS: Final = ("bash", "zsh", "tcsh")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell to write for")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the script here instead of printing it"
    )
    parser.epilog = "bash: source <(embodied-iqa completion bash); docs/reference/commands.md installs it."


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    with importing("shtab", INSTALL_DATA):
        import shtab
    script = shtab.complete(_whole_parser(shtab.FILE), shell=arguments.shell)
    if arguments.out is None:
        print(script)
    else:
        write_text_whole(arguments.out, script)
        print(f"completion: {arguments.out}; open a new shell to use it")
    return 0


def _whole_parser(files: Mapping[str, object]) -> argparse.ArgumentParser:
    """Return one parser of all commands, which imports them all."""
    parser = Parser(prog="embodied-iqa")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, (module, summary) in main.COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        importlib.import_module(module).configure(command)
        _complete_files(command, files)
    return parser


def _complete_files(parser: argparse.ArgumentParser, files: Mapping[str, object]) -> None:
    """Mark the arguments that take a file or folder with shtab's function for each shell."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its arguments
        if action.type in (Path, yaml_file):
            action.complete = files  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for choice in action.choices.values():
                choice.complete()
                _complete_files(choice, files)

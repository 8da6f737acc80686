"""What `--help` of a command imports: nothing that only its work needs."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys

from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.cli.parser import Parser

SLOW = ("scipy.stats", "torch", "transformers", "numba", "onnxruntime", "duckdb", "rclpy")
"""Each takes longer to import than the help of a command to print."""


def _configure(parser: Parser) -> None:
    parser.complete()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for chosen in action.choices.values():
                _configure(chosen)


def configure_all() -> None:
    """Add the arguments of all commands and actions, as their help does."""
    for module, _ in COMMANDS.values():
        parser = Parser()
        importlib.import_module(module).configure(parser)
        _configure(parser)


def test_the_help_of_no_command_imports_what_is_slow() -> None:
    code = (
        "import sys, test_cli_help\n"
        "test_cli_help.configure_all()\n"
        "print([name for name in test_cli_help.SLOW if name in sys.modules])"
    )
    search = f"import sys; sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
    assert subprocess.check_output([sys.executable, "-c", search + code], text=True) == "[]\n"

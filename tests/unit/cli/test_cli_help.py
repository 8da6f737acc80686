"""What `--help` of a command imports: nothing that only its work needs."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pytest

from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.cli.parser import Parser

SLOW: Final = (
    *("scipy.stats", "scipy.optimize", "scipy.spatial", "mujoco", "matplotlib", "pyarrow.dataset"),
    *("torch", "transformers", "numba", "onnxruntime", "duckdb", "rclpy"),
)
"""Each takes longer to import than the help of a command to print."""
HEAVY: Final = ("numpy", "cv2", "pyarrow", "rosbags", "scipy", "yaml")
"""Of these, the help of most commands needs none or few: the defaults of its options stand beside them."""
NEEDED: Final = {
    "build": {"numpy", "pyarrow", "yaml"},
    "gate fit": {"numpy", "cv2", "yaml"},
    "manipulate replay": set[str](),
    "metrics train": {"numpy", "cv2"},
    "recording info": set[str](),
    "static s2d": {"numpy"},
    "tasks": {"numpy", "yaml"},
}
"""Which of them the help of these commands imports."""


def _actions(parser: Parser) -> Iterator[tuple[str, Parser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def help_imports(names: tuple[str, ...], command: str = "") -> dict[str, list[str]]:
    """Return by command which modules it imports first, when the arguments are added for the help.

    Args:
        names: Of modules.
        command: The one command, or a command and its action; all of them where it is empty.
    """
    found: dict[str, list[str]] = {}
    seen = set[str]()
    wanted, _, action = command.partition(" ")

    def imported(name: str) -> None:
        new = [one for one in names if one in sys.modules and one not in seen]
        if new:
            found[name] = new
            seen.update(new)

    for name, (module, _) in COMMANDS.items():
        if wanted in {"", name}:
            parser = Parser()
            importlib.import_module(module).configure(parser)
            imported(name)
            for word, chosen in _actions(parser):
                if action in {"", word}:
                    chosen.complete()
                    imported(f"{name} {word}")
    return found


def _imported_elsewhere(names: tuple[str, ...], command: str = "") -> dict[str, list[str]]:
    """Return `help_imports` of a new process."""
    code = f"import json, test_cli_help as t; print(json.dumps(t.help_imports({names!r}, {command!r})))"
    search = f"import sys; sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
    found: dict[str, list[str]] = json.loads(
        subprocess.check_output([sys.executable, "-c", search + code], text=True)
    )
    return found


def test_the_help_of_no_command_imports_what_is_slow() -> None:
    assert _imported_elsewhere(SLOW) == {}


@pytest.mark.parametrize(("command", "needed"), NEEDED.items())
def test_the_help_imports_only_what_its_options_need(command: str, needed: set[str]) -> None:
    found = _imported_elsewhere(HEAVY, command)
    assert {name for names in found.values() for name in names} <= needed

"""Ctrl-C is not lost where Python ignores exceptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from embodied_iqa import __main__ as package_entry
from live_process import COMPLETION_S

LOSES_ONE = """
import signal, sys, time
from embodied_iqa.cli import main as cli

class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def dispatch(_words):
    Finalized()
    time.sleep(30)
    return 0

cli._dispatch = dispatch
sys.argv = ["embodied-iqa", "doctor"]
sys.exit(cli.main())
"""


def test_an_interrupt_during_a_finalizer_ends_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOSES_ONE], capture_output=True, text=True, timeout=COMPLETION_S, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "embodied-iqa: interrupted\n"


HANGS_AT_ITS_END = """
import ctypes, sys, types
from embodied_iqa.cli import main as cli

class Participant:
    def __del__(self):
        ctypes.PyDLL(None).sleep(60)  # like Fast DDS: keeps the interpreter's lock

def dispatch(_words):
    sys.modules["rclpy"] = types.ModuleType("rclpy")
    sys.modules["rclpy"].participant = Participant()
    return 0

cli._dispatch, cli._LAST_S = dispatch, 1.0
sys.argv = ["embodied-iqa", "trial"]
sys.exit(cli.main())
"""


def test_a_command_whose_graph_never_ends_is_ended() -> None:
    done = subprocess.run([sys.executable, "-c", HANGS_AT_ITS_END], timeout=COMPLETION_S, check=False)
    assert done.returncode == 1


AT_AN_IMPORT = """
import os, signal, sys

class Interrupts:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
"""
SCRIPT = str(Path(sys.executable).with_name("embodied-iqa"))


ENTRIES = ([SCRIPT], ["-m", str(package_entry.__package__)], ["-m", "embodied_iqa.cli.main"])


def interrupted(folder: Path, module: str, *words: str) -> tuple[int, str]:
    """Return exit code and errors of a Python that is interrupted where it looks for a module."""
    (folder / "sitecustomize.py").write_text(AT_AN_IMPORT)
    environment = os.environ | {"PYTHONPATH": str(folder), "INTERRUPTED_AT": module}
    command = [sys.executable, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=COMPLETION_S, check=False, env=environment
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("entry", ENTRIES, ids=["script", "package", "module"])
@pytest.mark.parametrize("module", ["argparse", "embodied_iqa.base", "embodied_iqa.cli.gate"])
def test_an_interrupt_while_a_command_is_imported_ends_it_in_one_line(
    entry: list[str], module: str, tmp_path: Path
) -> None:
    found = interrupted(tmp_path, module, *entry, "gate", "check", "--help")
    assert found == (130, "embodied-iqa: interrupted\n")


@pytest.mark.parametrize("module", ["embodied_iqa.base", "rclpy"])
def test_an_interrupt_while_a_node_is_imported_ends_it_without_a_word(module: str, tmp_path: Path) -> None:
    found = interrupted(tmp_path, module, "-m", "embodied_iqa.live.nodes.gate_filter_node")
    assert found == (-signal.SIGINT, "")  # by the signal itself: 130 in a shell

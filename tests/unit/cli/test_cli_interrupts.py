"""Ctrl-C is not lost where Python ignores exceptions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "entry", [[SCRIPT], ["-m", "embodied_iqa"], ["-m", "embodied_iqa.cli.main"]], ids=str
)
@pytest.mark.parametrize("module", ["embodied_iqa.base", "numpy"])
def test_an_interrupt_while_a_command_is_imported_ends_it_in_one_line(
    entry: list[str], module: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(AT_AN_IMPORT)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "INTERRUPTED_AT": module}
    command = [sys.executable, *entry, "gate", "check", "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=COMPLETION_S, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (130, "embodied-iqa: interrupted\n")

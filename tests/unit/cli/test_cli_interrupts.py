"""Ctrl-C is not lost where Python ignores exceptions."""

from __future__ import annotations

import subprocess
import sys

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
        [sys.executable, "-c", LOSES_ONE], capture_output=True, text=True, timeout=25, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "embodied-iqa: interrupted\n"

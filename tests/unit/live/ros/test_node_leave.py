"""A node ends although a destructor never comes back."""

from __future__ import annotations

import subprocess
import sys

from live_process import COMPLETION_S

NEVER_COMES_BACK = """
import ctypes
from embodied_iqa.live.ros.node import leave

class Participant:
    def __init__(self):
        self.own = self  # only the garbage collector destroys it

    def __del__(self):
        ctypes.PyDLL(None).sleep(60)  # like Fast DDS: keeps the interpreter's lock

Participant()
leave(0)
"""


def test_a_destructor_that_hangs_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", NEVER_COMES_BACK], timeout=COMPLETION_S, check=False)
    assert done.returncode == 1


def test_otherwise_the_exit_code_is_that_of_the_node() -> None:
    words = [sys.executable, "-c", "from embodied_iqa.live.ros.node import leave; leave(7)"]
    assert subprocess.run(words, timeout=COMPLETION_S, check=False).returncode == 7

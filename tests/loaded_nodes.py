"""Nodes that are started to see them end: each a process of its own, forked from one that has imported it.

What runs in it is what `python -m embodied_iqa.live.nodes.NAME` runs; to import it takes each start most of a
second. That a node starts by its command, `ros_graph.py` and the trials show.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from subprocess import PIPE

from live_process import COMPLETION_S, running_program

_NODES = "embodied_iqa.live.nodes"


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended."""

    returncode: int
    stderr: str


End = Callable[[str, Sequence[str]], Ended]
"""Starts a node with arguments of ROS and waits for its end."""


@contextmanager
def loaded_nodes(folder: Path, domain: int, *names: str) -> Iterator[End]:
    """Import nodes; end all at the end of the block."""
    command = [sys.executable, __file__, *names]
    with running_program(command, folder, {"ROS_DOMAIN_ID": str(domain)}, stdin=PIPE) as program:
        orders, asked = program.process.stdin, 0
        assert orders is not None

        def end(name: str, arguments: Sequence[str]) -> Ended:
            nonlocal asked
            asked += 1
            said = folder / f"{asked}.stderr"
            orders.write(json.dumps([name, ["--ros-args", *arguments], str(said)]).encode() + b"\n")
            orders.flush()
            program.wait_until(
                lambda: program.stdout.count("\n") == asked, f"the end of {name}", COMPLETION_S
            )
            return Ended(int(program.stdout.split()[-1]), said.read_text(encoding="utf-8"))

        yield end
        orders.close()
        assert program.wait(COMPLETION_S) == 0


def _serve(names: Sequence[str]) -> None:
    for name in names:
        import_module(f"{_NODES}.{name}")
        del sys.modules[f"{_NODES}.{name}"]  # its own lines run in each process again
    for line in sys.stdin:
        name, arguments, said = json.loads(line)
        child = os.fork()
        if child == 0:
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            sys.argv = [name, *arguments]
            runpy.run_module(f"{_NODES}.{name}", run_name="__main__", alter_sys=True)
            sys.exit()
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(sys.argv[1:])

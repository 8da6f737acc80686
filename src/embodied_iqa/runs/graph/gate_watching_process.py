"""Process that listens to a gate node, for programs that do not import rclpy: a line in, its state out."""

from __future__ import annotations

import json
import queue
import sys
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.runs.graph.line_process import LineProcess
from embodied_iqa.runs.graph.namespaces import parse_namespace

MODULE: Final = "embodied_iqa.live.ros.gate_watching"
_ANSWER_S: Final = 5.0


class GateWatchingProcess(LineProcess):
    """A gate node whose state is asked for; the process starts with the first question.

    Args:
        name: Of the node, such as ``/gate``.
        command: Program and arguments; the default is `embodied_iqa.live.ros.gate_watching` in this Python.

    Raises:
        UsageError: No name of a node.
    """

    def __init__(self, name: str, command: tuple[str, ...] = (sys.executable, "-m", MODULE)) -> None:
        try:
            self.address = parse_namespace(name)
        except UsageError:
            self.address = ""
        if not self.address:
            raise UsageError("wrong --gate", expected="name of a gate node, such as /gate", got=name)
        super().__init__((*command, self.address))
        self._answers: queue.Queue[str] = queue.Queue()
        self._problem = "connecting to ROS"

    def snapshot(self) -> dict[str, Any]:
        """Return what `GateLive.snapshot` does, or why there is nothing as ``silent``.

        Raises:
            InputError: The process does not answer.
        """
        with self._lock:
            while not self._answers.empty():  # to a question that was given up
                self._answers.get_nowait()
            try:
                if not self.write("\n"):
                    raise InputError(self._problem)
                content = json.loads(self._answers.get(timeout=_ANSWER_S))
            except (OSError, ValueError):
                raise InputError(self._problem) from None
            except queue.Empty:
                raise InputError(f"no answer of ROS within {_ANSWER_S:g} s") from None
        return dict(content)

    def took(self, line: str) -> None:
        """Take an answer."""
        self._answers.put_nowait(line)

    def failed(self, problem: str) -> None:
        """Say why there is none; whoever waits for one waits no more."""
        self._problem = problem
        self._answers.put_nowait("")

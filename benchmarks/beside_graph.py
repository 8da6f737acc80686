"""What benchmarks need beside a graph: a node that spins, and the processes that a process has started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.live.ros.spinning import SpinThread

NodeT = TypeVar("NodeT", bound=Node)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started; those of a thread that has ended are left out."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text(encoding="utf-8").split())
    return found


@contextmanager
def spinning(make_node: Callable[[Context], NodeT]) -> Iterator[NodeT]:
    """Yield a node of this process that spins, in a context of its own."""
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = make_node(context)
    spin = SpinThread(node)
    try:
        yield node
    finally:
        spin.close()
        node.destroy_node()
        rclpy.try_shutdown(context=context)

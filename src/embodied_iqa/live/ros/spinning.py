"""Executors that end in order: no callback runs while its node is destroyed."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.node import Node
from rclpy.task import Task

_POLL_S = 0.1
_JOIN_S = 2.0


class ThreadedExecutor(Executor):
    """Runs callbacks in a fixed number of threads; its shutdown waits for them, as documented of rclpy's.

    `rclpy.executors.MultiThreadedExecutor` destroys what its running callbacks still use.

    Args:
        threads: Number of threads.
        context: As of rclpy's executors.
    """

    def __init__(self, threads: int, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._ready: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._errors: deque[BaseException] = deque()
        self._idle = threading.Condition()
        self._unfinished = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"executor {number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Hand the next callback to a thread; raise the exception of an earlier one."""
        if self._errors:
            raise self._errors.popleft()
        try:
            task, _entity, _node = self.wait_for_ready_callbacks(timeout_sec)
        except (ExternalShutdownException, ShutdownException, TimeoutException):
            return
        except InvalidHandle:  # a callback has closed a topic meanwhile: the next wait set is without it
            return
        with self._idle:
            self._unfinished += 1
        self._ready.put(task)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Wait for the callbacks, then release the executor; return whether all of them ended in time."""
        with self._idle:
            ended = self._idle.wait_for(lambda: self._unfinished == 0, timeout_sec)
        for _thread in self._threads:
            self._ready.put(None)
        return super().shutdown(timeout_sec) and ended

    def _work(self) -> None:
        while (task := self._ready.get()) is not None:
            task()
            if task.done() and (error := task.exception()) is not None:
                self._errors.append(error)
            with self._idle:
                self._unfinished -= 1
                self._idle.notify_all()


class SpinThread:
    """Spins a node in a thread of its own until it is closed.

    Args:
        node: The node; destroy it after closing this.
    """

    def __init__(self, node: Node) -> None:
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._ending = threading.Event()
        self._error: BaseException | None = None
        self._posted: deque[Callable[[], None]] = deque()
        self._thread = threading.Thread(target=self._spin, name=f"{node.get_name()} spin", daemon=True)
        self._thread.start()

    def post(self, action: Callable[[], None]) -> None:
        """Run an action in the spinning thread, between two callbacks and in the order of posting."""
        self._posted.append(action)
        self._executor.create_task(self._run_posted)  # rclpy takes the newest task first

    def check(self) -> None:
        """Raise the exception of a callback that ended the thread: nothing is received any more."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the thread after its callback, then release the executor."""
        self._ending.set()
        deadline = time.monotonic() + _JOIN_S
        while self._thread.is_alive() and time.monotonic() < deadline:
            self._executor.wake()
            self._thread.join(_POLL_S)
        self._executor.shutdown(timeout_sec=0.0)

    def _run_posted(self) -> None:
        self._posted.popleft()()

    def _spin(self) -> None:
        try:
            while not self._ending.is_set():
                self._executor.spin_once(timeout_sec=_POLL_S)
        except ExternalShutdownException:
            return
        except BaseException as error:
            self._error = error
            raise

"""One thread that asks the subject, and a queue in front of it that never grows beyond its bound."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from embodied_iqa.errors import InputError
from embodied_iqa.subjects.serving.offered import Offered

__all__ = ["BusyError", "Worker"]

_LOOK_AGAIN_S = 0.2


class BusyError(InputError):
    """Too many questions wait already."""


@dataclass(slots=True)
class _Waiting:
    question: Any
    result: Future[dict[str, Any]]
    since_s: float = field(default_factory=perf_counter)


class Worker:
    """Asks a subject in a thread of its own.

    Args:
        subject: Whom to ask.
        most_waiting: Further questions are refused.
        most_at_once: Questions that a subject with batches is asked at once.
    """

    def __init__(self, subject: Offered, *, most_waiting: int, most_at_once: int) -> None:
        self._subject = subject
        self._most_at_once = most_at_once if subject.batches else 1
        self._queue: queue.Queue[_Waiting] = queue.Queue(most_waiting)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether questions are still answered."""
        return self._thread.is_alive()

    def ask(self, question: Any) -> Future[dict[str, Any]]:
        """Queue a question; cancelling the result takes it out of the queue.

        Raises:
            BusyError: The queue is full.
        """
        waiting = _Waiting(question, Future())
        try:
            self._queue.put_nowait(waiting)
        except queue.Full:
            raise BusyError(f"busy: {self._queue.maxsize} questions wait already, ask again later") from None
        return waiting.result

    def close(self, deadline_s: float) -> None:
        """Stop after the present answer, waiting so long for it at most; waiting questions are given up."""
        self._stop.set()
        self._thread.join(deadline_s)
        while True:
            try:
                self._queue.get_nowait().result.cancel()
            except queue.Empty:
                return

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                first = self._queue.get(timeout=_LOOK_AGAIN_S)
            except queue.Empty:
                continue
            batch = [
                waiting for waiting in (first, *self._more()) if waiting.result.set_running_or_notify_cancel()
            ]
            if batch:
                self._answer(batch)

    def _more(self) -> list[_Waiting]:
        """Take what waits already: waiting for a fuller batch would delay the first question."""
        more: list[_Waiting] = []
        while len(more) < self._most_at_once - 1:
            try:
                more.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return more

    def _answer(self, batch: Sequence[_Waiting]) -> None:
        began_s = perf_counter()
        try:
            answers = self._subject.answer([waiting.question for waiting in batch])
        except Exception as error:  # noqa: BLE001 - a subject may be anybody's code
            self._after_failure(batch, error)
            return
        took_ms = (perf_counter() - began_s) * 1e3
        for waiting, answer in zip(batch, answers, strict=True):
            timing = {
                "infer_ms": took_ms,
                "wait_ms": (began_s - waiting.since_s) * 1e3,
                "batch": len(batch),
            }
            waiting.result.set_result({**answer, **self._subject.identity, "server_timing": timing})

    def _after_failure(self, batch: Sequence[_Waiting], error: Exception) -> None:
        """Ask one by one, so that one question that cannot be answered fails alone."""
        if len(batch) == 1:
            batch[0].result.set_exception(error)
            return
        for waiting in batch:
            self._answer([waiting])

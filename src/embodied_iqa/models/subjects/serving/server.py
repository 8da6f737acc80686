"""The policy server: one subject for all clients, by openpi's protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from websockets.asyncio.server import ServerConnection

from embodied_iqa.models.subjects.inference import InferenceQueue
from embodied_iqa.models.subjects.serving.conversation import Conversation, Servable, SubjectQueue
from embodied_iqa.models.subjects.serving.listener import Listener, ServingOptions, StoppableServer

_LAST_ANSWER_S: Final = 5.0


class PolicyServer(StoppableServer):
    """Serves one subject.

    Args:
        subject: The subject.
        options: Where, and the limits.
    """

    def __init__(self, subject: Servable, options: ServingOptions) -> None:
        self._subject = subject
        self._options = options
        self._queue: SubjectQueue | None = None
        self._listener = Listener(options, self._converse, self._is_healthy)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Serve inside of the block; gives the port."""
        options = self._options
        self._queue = InferenceQueue(
            "serving",
            self._subject.answer,
            limit=options.most_waiting,
            batch=options.most_at_once if self._subject.batches else 1,
        )
        try:
            async with self._listener.listening() as port:
                yield port
        finally:
            await asyncio.to_thread(self._queue.close, _LAST_ANSWER_S)

    def _is_healthy(self) -> bool:
        return self._queue is not None and self._queue.is_alive

    async def _converse(self, connection: ServerConnection) -> None:
        if self._queue is not None:
            await Conversation(connection, self._subject, self._queue, self._options).hold(self._listener)

"""Questions and answers of one client, in turn, by openpi's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from websockets.asyncio.server import ServerConnection

from embodied_iqa.base.errors import EmbodiedIqaError, InputError
from embodied_iqa.models.subjects.inference import InferenceQueue, Outcome, OutcomeKind
from embodied_iqa.models.subjects.serving.listener import Listener, ServingOptions
from embodied_iqa.models.subjects.wire.errors import one_line
from embodied_iqa.models.subjects.wire.msgpack_arrays import pack, unpack

SubjectQueue: TypeAlias = InferenceQueue[Any, dict[str, Any]]


class Servable(Protocol):
    """Answers messages: one at a time, or several at once."""

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and revision: in every answer."""
        ...

    @property
    def metadata(self) -> dict[str, Any]:
        """First message to a client."""
        ...

    @property
    def batches(self) -> bool:
        """Whether several questions at once are faster than one after the other."""
        ...

    def understand(self, message: Mapping[str, Any], /) -> Any:
        """Parse a question, quickly.

        Raises:
            InputError: The message is not a question.
        """
        ...

    def answer(self, questions: Sequence[Any], /) -> Sequence[dict[str, Any]]:
        """Answer questions, one answer each."""
        ...


class BusyError(InputError):
    """Too many questions are waiting."""


class Conversation:
    """Metadata first, then an answer to each question.

    Args:
        connection: The client.
        subject: Answers.
        queue: In which the subject answers.
        options: Limits.
    """

    def __init__(
        self, connection: ServerConnection, subject: Servable, queue: SubjectQueue, options: ServingOptions
    ) -> None:
        self._connection = connection
        self._subject = subject
        self._queue = queue
        self._options = options

    async def hold(self, listener: Listener) -> None:
        """Answer questions until the client leaves.

        Raises:
            ConnectionClosed: It left without a farewell.
        """
        connection = self._connection
        await connection.send(pack(self._subject.metadata))
        async for message in connection:
            listener.asked(connection)
            answer = await self._reply(message)
            if answer is None:
                return
            await connection.send(answer)
            listener.answered(connection)

    async def _reply(self, message: str | bytes) -> bytes | str | None:
        """Return the answer, a line of text where there is none, or None where the client has left."""
        try:
            content = self._content(message)
            answer = await self._ask(self._subject.understand(content))
            if answer is None:
                return None
            return pack({**answer, **({"request": content["request"]} if "request" in content else {})})
        except EmbodiedIqaError as error:
            return f"{type(error).__name__}: {one_line(str(error))}"
        except Exception as error:  # noqa: BLE001 - a subject may be third-party code
            return f"{type(error).__name__}: {one_line(str(error))}"

    async def _ask(self, question: Any) -> dict[str, Any] | None:
        asked = self._queue.submit(question, deadline_s=self._options.deadline_s)
        result: asyncio.Future[Any] = asyncio.wrap_future(asked)
        left: asyncio.Future[Any] = asyncio.ensure_future(self._connection.wait_closed())
        try:
            await asyncio.wait({result, left}, return_when=asyncio.FIRST_COMPLETED)
            return self._labelled(result.result()) if result.done() else None
        except asyncio.CancelledError:
            return None
        finally:
            left.cancel()
            asked.cancel()  # at once; through `result` it would take another turn of the loop
            result.cancel()

    def _labelled(self, outcome: Outcome[dict[str, Any]]) -> dict[str, Any]:
        """Return the answer with identity and timing, its own if it has any, or raise why there is none."""
        if outcome.kind is OutcomeKind.REFUSED:
            raise BusyError(f"busy: {self._options.most_waiting} questions wait already, ask again later")
        if outcome.result is None:
            raise outcome.error or InputError(outcome.reason)
        timing = {
            "infer_ms": outcome.model_ms,
            "wait_ms": outcome.latency_ms - outcome.model_ms,
            "batch": outcome.batch,
        }
        return {"server_timing": timing, **outcome.result, **self._subject.identity}

    def _content(self, message: str | bytes) -> dict[str, Any]:
        if isinstance(message, str):
            raise InputError("a question is a binary message")
        content = unpack(message, self._options.most_bytes)
        if not isinstance(content, dict):
            raise InputError("a question is a map", got=type(content).__name__)
        request = content.get("request", 0)
        if not isinstance(request, int):
            raise InputError("the number of a request is not an integer", got=type(request).__name__)
        return content

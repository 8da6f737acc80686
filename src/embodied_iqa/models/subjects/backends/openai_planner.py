"""Planners behind servers that speak the OpenAI chat completions protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from embodied_iqa.models.subjects.backends.openai_server import (
    OpenAiServer,
    connect,
    image_part,
    info_of_server,
    text_part,
)
from embodied_iqa.models.subjects.prompt import PLAN
from embodied_iqa.models.subjects.subject_options import DecodingOptions, VlmRequest
from embodied_iqa.models.subjects.wire.errors import ServerError
from embodied_iqa.world.protocols import Message, SubjectInfo

_NOT_SUPPORTED: Final = ("response_format", "json_schema", "schema")
"""Words in the complaint of a server that cannot be bound to a JSON schema."""


def make(request: VlmRequest) -> OpenAiPlanner:
    """Connect to a server, ready to plan.

    Raises:
        UsageError: A public API of the catalogue needs consent or a key.
        InputError: The server is not reached, or does not have the model.
    """
    return OpenAiPlanner(info_of_server(request, PLAN), connect(request), request.options.decoding)


class OpenAiPlanner:
    """Sends conversations with any number of images, losslessly as PNG.

    A server that refuses a JSON schema is asked again without one, and from then on without.

    Args:
        info: Description of the subject.
        server: The server.
        decoding: How words are chosen.
    """

    def __init__(self, info: SubjectInfo, server: OpenAiServer, decoding: DecodingOptions) -> None:
        self.info = info
        self._server = server
        self._decoding = decoding
        self._has_schema = True

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        """Return the answer to a conversation.

        Raises:
            WireError: No answer within the deadline.
        """
        sent = [_plain(message) for message in messages]
        if not schema or not self._has_schema:
            return self._server.complete(sent, self._decoding)
        bound = {"name": "plan", "strict": True, "schema": json.loads(schema)}
        form = {"type": "json_schema", "json_schema": bound}
        try:
            return self._server.complete(sent, self._decoding, response_format=form)
        except ServerError as error:
            if not any(word in str(error) for word in _NOT_SUPPORTED):
                raise
        self._has_schema = False
        return self._server.complete(sent, self._decoding)

    def close(self) -> None:
        """End the pauses between attempts."""
        self._server.stop.set()


def _plain(message: Message) -> dict[str, object]:
    parts = [text_part(part) if isinstance(part, str) else image_part(part) for part in message.parts]
    return {"role": str(message.speaker), "content": parts}

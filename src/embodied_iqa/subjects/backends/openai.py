"""Vision-language models behind servers that speak the OpenAI chat completions protocol."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

import cv2

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.subjects.batching import Question
from embodied_iqa.subjects.options import DecodingOptions, ServerOptions, VlmRequest
from embodied_iqa.subjects.prompt import (
    DEFAULT_PROMPT,
    QUESTION_PROMPT,
    decoding_version,
    prompt_of,
    tidy,
)
from embodied_iqa.subjects.protocols import SubjectInfo
from embodied_iqa.subjects.reference import SubjectReference
from embodied_iqa.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.subjects.wire.errors import ConnectionLostError, ProtocolError, ServerError
from embodied_iqa.subjects.wire.http import HttpAnswer, HttpServer
from embodied_iqa.subjects.wire.sockets import Address
from embodied_iqa.subjects.wire.tokens import token_from

_BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_WITHOUT_LIST: Final = frozenset({404, 405, 501})
"""Statuses of servers that do not list their models."""
_FIRST_PAUSE_S: Final = 0.25
_CHARACTERS_A_TOKEN: Final = 32
_SHOWN_CHARACTERS: Final = 200


def make(request: VlmRequest) -> OpenAiVlm:
    """Connect to a server, ready to answer.

    Raises:
        UsageError: A public API of the catalogue needs consent or a key.
        InputError: The server is not reached, or does not have the model.
    """
    reference, options = request.reference, request.options
    entry = reference.entry
    public = entry is not None and entry.is_api and reference.target == entry.url
    if public and not options.loading.allow_network:
        raise UsageError(
            f"{reference} sends pictures to {reference.target}", expected="loading.allow_network as consent"
        )
    key_env = options.server.key_env or (entry.key_env if entry is not None and public else "")
    server = _Server(reference, options.server, token_from(key_env))
    if not public:
        request.progress(f"asking {reference.target} for its models")
        server.check_model()
    prompt = request.prompt or (entry.prompt if entry is not None else DEFAULT_PROMPT)
    revision = re.sub(r"[^A-Za-z0-9._]+", "-", reference.model)
    info = SubjectInfo(
        name=reference.text,
        version=decoding_version(revision, prompt, options.decoding),
        description=f"{reference.model} on {reference.target}, whose revision its server decides",
        views=entry.views if entry is not None else (View.TOP,),
        any_view=entry.any_view if entry is not None else True,
    )
    return OpenAiVlm(info, server, options.decoding, prompt)


class OpenAiVlm:
    """Asks a server about images, sent losslessly as PNG.

    Args:
        info: Description of the subject.
        server: The server.
        decoding: How words are chosen.
        prompt: Template of the question.
    """

    def __init__(self, info: SubjectInfo, server: _Server, decoding: DecodingOptions, prompt: str) -> None:
        self.info = info
        self._server = server
        self._decoding = decoding
        self._prompt = prompt

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about an image in about ten words.

        Raises:
            WireError: No answer within the deadline.
        """
        decoding = self._decoding
        text = {"type": "text", "text": prompt_of(self._prompt, task, decoding.words)}
        picture = {"type": "image_url", "image_url": {"url": _data_url(frame)}}
        # a question stands behind its picture; the order of the other prompts is part of recorded versions
        content = [picture, text] if self._prompt == QUESTION_PROMPT else [text, picture]
        body: dict[str, object] = {
            "model": self._server.reference.model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": decoding.max_new_tokens,
            "temperature": decoding.temperature,
            "stream": False,
        }
        if decoding.temperature > 0:
            body["seed"] = decoding.seed
        where = self._server.where
        answer = tidy(_content_of(_json(self._server.ask("/chat/completions", body)), where))
        limit = _CHARACTERS_A_TOKEN * decoding.max_new_tokens
        if len(answer) > limit:
            raise ProtocolError(
                f"{where} does not keep to {decoding.max_new_tokens} tokens",
                expected=f"at most {limit} characters",
                got=len(answer),
            )
        return answer

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Ask several questions at once; the server decides how it batches them."""
        with ThreadPoolExecutor(self._decoding.batch, thread_name_prefix="openai") as pool:
            return list(pool.map(lambda question: self.answer(*question), questions))

    def close(self) -> None:
        """End the pauses between attempts."""
        self._server.stop.set()


@dataclass(frozen=True, slots=True)
class _Server:
    """A server and its options; the key appears in no message and no `repr`."""

    reference: SubjectReference
    options: ServerOptions
    key: str = field(repr=False)
    stop: Event = field(default_factory=Event)

    @property
    def where(self) -> str:
        return self.reference.target

    def check_model(self) -> None:
        """Check early that the server is up and has the model; a server without a list is trusted.

        Raises:
            InputError: It is not reached or does not have the model.
        """
        match _json(self.ask("/models", None, _WITHOUT_LIST)):
            case {"data": list(models)}:
                names = [str(model.get("id")) for model in models if isinstance(model, dict)]
                if names and self.reference.model not in names:
                    raise InputError(
                        f"{self.where} has no model of this name", got=self.reference.model, available=names
                    )

    def ask(self, path: str, body: object | None, tolerated: frozenset[int] = frozenset()) -> HttpAnswer:
        """Ask until there is an answer, the attempts are used up or the deadline is too near.

        Raises:
            WireError: There is none; the reason is that of the last attempt.
        """
        address, prefix = Address.of(self.where)
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        http = HttpServer(address, self.options.connect_s, self.options.max_answer_bytes, headers)
        content = None if body is None else json.dumps(body).encode()
        deadline = Deadline.after(self.options.deadline_s, f"no answer from {address}")

        def attempt() -> HttpAnswer:
            answer = http.request(prefix + path, content, deadline)
            if answer.status not in {200, *tolerated}:
                raise self._problem(answer)
            return answer

        return retrying(attempt, deadline, self.options.retries, self.stop, _FIRST_PAUSE_S)

    def _problem(self, answer: HttpAnswer) -> ConnectionLostError | ServerError:
        reason = ""
        match _json(answer):
            case {"error": {"message": str(reason)}} | {"error": str(reason)} | {"message": str(reason)}:
                reason = tidy(reason)
        if self.key:
            reason = reason.replace(self.key, "(the key)")
        message = f"{self.where} answers with status {answer.status}"
        if reason:
            message += f": {reason[:_SHOWN_CHARACTERS]}"
        if answer.status in _BUSY:
            return ConnectionLostError(message, retry_after_s=answer.retry_after_s)
        return ServerError(message)


def _json(answer: HttpAnswer) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def _data_url(frame: Frame) -> str:
    done, png = cv2.imencode(".png", cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2BGR))
    if not done:
        raise InputError("an image cannot be written as PNG", got=frame.rgb.shape)
    return "data:image/png;base64," + base64.b64encode(png.tobytes()).decode()


def _content_of(value: Any, where: str) -> str:
    """Return the words of a completion.

    Raises:
        ProtocolError: It is none.
    """
    match value:
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [{"message": {"content": None}}, *_]}:
            return ""
        case {"choices": [{"message": {"content": list(parts)}}, *_]}:
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            return " ".join(text for text in texts if isinstance(text, str))
    raise ProtocolError(f"{where} gives no chat completion")

"""Servers that speak the OpenAI chat completions protocol: connection, attempts, images, completions."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.prompt import decoding_version, tidy
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import (
    OWN_SAMPLING,
    DecodingOptions,
    Progress,
    ServerOptions,
    VlmRequest,
    silent,
)
from embodied_iqa.models.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError, ProtocolError, ServerError
from embodied_iqa.models.subjects.wire.http import HttpAnswer, HttpServer
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.tokens import token_from
from embodied_iqa.world.protocols import SubjectInfo

_BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_WITHOUT_LIST: Final = frozenset({404, 405, 501})
"""Statuses of servers that do not list their models."""
_FIRST_PAUSE_S: Final = 0.25
_CHARACTERS_A_TOKEN: Final = 32
_SHOWN_CHARACTERS: Final = 200
_NOT_TAKEN: Final = frozenset({400, 422})
"""Statuses with which a server refuses an option of a question."""
_REPLACED: Final = {"max_tokens": "max_completion_tokens"}
"""Options that newer models refuse, and what is sent instead."""
_CHOOSING: Final = ("temperature", "seed")
"""Options that choose the words: part of the version under which answers are stored."""
_COMPLAINT: Final = re.compile(
    r"not support|unsupported|only the default|instead|unrecogni[sz]ed|unknown|deprecated"
    r"|not (?:permitted|allowed)",
    re.IGNORECASE,
)


def connect(request: VlmRequest) -> OpenAiServer:
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
            f"{reference} sends images to {reference.target}", expected="loading.allow_network as consent"
        )
    key_env = options.server.key_env or (entry.key_env if entry is not None and public else "")
    server = OpenAiServer(
        reference, options.server, token_from(key_env), clock=request.clock, progress=request.progress
    )
    if not public:
        request.progress(f"asking {reference.target} for its models")
        server.check_model()
    return server


def info_of_server(request: VlmRequest, prompt: str) -> SubjectInfo:
    """Return the description of a model behind a server."""
    reference = request.reference
    entry = reference.entry
    revision = re.sub(r"[^A-Za-z0-9._]+", "-", reference.model)
    return SubjectInfo(
        name=reference.text,
        version=decoding_version(revision, prompt, request.options.decoding),
        description=f"{reference.model} on {reference.target}, whose revision its server decides",
        views=entry.views if entry is not None else (View.TOP,),
        any_view=entry.any_view if entry is not None else True,
    )


@dataclass(frozen=True, slots=True)
class OpenAiServer:
    """A server and its options; the key appears in no message and no `repr`.

    An option that the server refuses is replaced from then on; not so temperature and seed, which are part of
    the version under which answers are stored.
    """

    reference: SubjectReference
    options: ServerOptions
    key: str = field(repr=False)
    stop: Event = field(default_factory=Event)
    clock: Clock = MONOTONIC
    progress: Progress = silent
    refused: set[str] = field(default_factory=set, compare=False)

    @property
    def where(self) -> str:
        """Address of the server."""
        return self.reference.target

    def complete(self, messages: list[dict[str, object]], decoding: DecodingOptions, **more: object) -> str:
        """Return the completion of a conversation.

        Raises:
            WireError: No answer within the deadline, one that is longer than the limit, or none because the
                limit of tokens was reached before it, or because the server's filter withheld it.
        """
        body: dict[str, object] = {
            "model": self.reference.model,
            "messages": messages,
            "max_tokens": decoding.max_new_tokens,
            "stream": False,
            **more,
        }
        if decoding.temperature >= 0:
            body["temperature"] = decoding.temperature
        if decoding.temperature > 0:
            body["seed"] = decoding.seed
        value = _json(self._ask_as_taken(body))
        answer = _content_of(value, self.where)
        self._check_finished(value, answer, decoding)
        limit = _CHARACTERS_A_TOKEN * decoding.max_new_tokens
        if len(answer) > limit:
            raise ProtocolError(
                f"{self.where} does not keep to {decoding.max_new_tokens} tokens",
                expected=f"at most {limit} characters",
                got=len(answer),
            )
        return answer

    def _ask_as_taken(self, body: dict[str, object]) -> HttpAnswer:
        """Ask, again with other names of the options that the server turns out to refuse."""
        while True:
            refused = set(self.refused)
            sent = {_REPLACED[key] if key in refused else key: value for key, value in body.items()}
            answer = self.ask("/chat/completions", sent, _NOT_TAKEN)
            if answer.status == 200:
                return answer
            problem = self._problem(answer)
            if wanted := [key for key in _CHOOSING if key in sent and _names(str(problem), key)]:
                raise ServerError(
                    f"{self.where} does not take {' and '.join(wanted)}",
                    expected=f"decoding.temperature={OWN_SAMPLING:g}: the server's own sampling",
                )
            new = {key for key in _REPLACED if key in sent and _names(str(problem), key)}
            if not new:
                raise problem
            self.refused.update(new)
            for key in sorted(new):
                self.progress(f"{self.where} does not take {key}: {_REPLACED[key]} is sent instead")

    def _check_finished(self, value: Any, answer: str, decoding: DecodingOptions) -> None:
        """Refuse an answer that is none: its model never came to it, or it was withheld."""
        match value:
            case {"choices": [{"finish_reason": str(reason)}, *_]}:
                text = answer.strip()
                is_thought = text.startswith("<think>") and "</think>" not in text
                if reason == "length" and (not text or is_thought):
                    raise ServerError(
                        f"{self.reference.model} reached the limit of {decoding.max_new_tokens} tokens before"
                        " it answered",
                        expected="more decoding.max_new_tokens; thoughts count, too",
                    )
                if reason == "content_filter":
                    raise ServerError(f"the content filter of {self.where} withheld the answer")

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
        deadline = Deadline.after(self.options.deadline_s, f"no answer from {address}", self.clock)

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


def image_part(rgb: NDArray[np.uint8]) -> dict[str, object]:
    """Return an image as a part of a message, losslessly as PNG."""
    return {"type": "image_url", "image_url": {"url": _data_url(rgb)}}


def text_part(text: str) -> dict[str, object]:
    """Return text as a part of a message."""
    return {"type": "text", "text": text}


def _data_url(rgb: NDArray[np.uint8]) -> str:
    done, png = cv2.imencode(".png", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))
    if not done:
        raise InputError("an image cannot be written as PNG", got=rgb.shape)
    return "data:image/png;base64," + base64.b64encode(png.tobytes()).decode()


def _names(message: str, option: str) -> bool:
    """Return whether a complaint is that an option, and not its value, is not taken."""
    is_named = re.search(rf"(?<![a-z_]){option}(?![a-z_])", message) is not None
    return is_named and _COMPLAINT.search(message) is not None


def _content_of(value: Any, where: str) -> str:
    """Return the words of a completion, or those with which the model refuses to answer.

    Raises:
        ProtocolError: It is none.
    """
    match value:
        case {"choices": [{"message": {"content": None | "" | [], "refusal": str(text)}}, *_]} if text:
            return text
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [{"message": {"content": None}}, *_]}:
            return ""
        case {"choices": [{"message": {"content": list(parts)}}, *_]}:
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            return " ".join(text for text in texts if isinstance(text, str))
    raise ProtocolError(f"{where} gives no chat completion")

"""Vision-language models behind any server that speaks the OpenAI chat completions protocol."""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import cv2

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.subjects.answer_text import tidy
from embodied_iqa.subjects.backends.http_json import HttpAnswer, ServerError, request_json
from embodied_iqa.subjects.batching import Question
from embodied_iqa.subjects.options import DecodingOptions, ServerOptions, VlmRequest
from embodied_iqa.subjects.prompt import DEFAULT_PROMPT, prompt_of
from embodied_iqa.subjects.protocols import SubjectInfo
from embodied_iqa.subjects.reference import SubjectReference
from embodied_iqa.subjects.vlm_version import decoding_version

__all__ = ["OpenAiVlm", "make"]

_BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST_WAIT_S: Final = 0.25
_LETTERS_A_TOKEN: Final = 32
_SHOWN_LETTERS: Final = 200


def make(request: VlmRequest) -> OpenAiVlm:
    """Reach a server, ready to answer.

    Raises:
        UsageError: The catalogue's public API is meant, and consent or key are missing.
        InputError: The server is not reached, or does not have the model.
    """
    reference, options = request.reference, request.options
    entry = reference.entry
    public = entry is not None and entry.is_api and reference.target == entry.url
    if public and not options.loading.allow_network:
        raise UsageError(
            f"{reference.text} sends pictures to {reference.target}",
            expected="loading.allow_network as consent",
        )
    key_env = options.server.key_env or (entry.key_env if entry is not None and public else "")
    server = _Server(reference, options.server, _key(key_env))
    if not public:
        request.progress(f"asks {reference.target} for its models")
        server.check_model()
    prompt = entry.prompt if entry is not None else DEFAULT_PROMPT
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
    """Asks a server about pictures, sent as PNG: nothing is lost on the way.

    Args:
        info: Who answers.
        server: Where.
        decoding: How words are chosen.
        prompt: Template of the question.
    """

    def __init__(self, info: SubjectInfo, server: _Server, decoding: DecodingOptions, prompt: str) -> None:
        self._info = info
        self._server = server
        self._decoding = decoding
        self._prompt = prompt

    @property
    def info(self) -> SubjectInfo:
        """Who answers."""
        return self._info

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about a picture in about ten words.

        Raises:
            ServerError: There is no answer within the deadline.
        """
        decoding = self._decoding
        text = prompt_of(self._prompt, task, decoding.words)
        content = [
            {"type": "text", "text": text},
            {"type": "image_url", "image_url": {"url": _data_url(frame)}},
        ]
        body: dict[str, object] = {
            "model": self._server.reference.model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": decoding.max_new_tokens,
            "temperature": decoding.temperature,
            "stream": False,
        }
        if decoding.temperature > 0:
            body["seed"] = decoding.seed
        answer = tidy(_content_of(self._server.ask("/chat/completions", body).value, self._server.where))
        limit = _LETTERS_A_TOKEN * decoding.max_new_tokens
        if len(answer) > limit:
            raise ServerError(
                f"{self._server.where} does not keep to {decoding.max_new_tokens} tokens",
                expected=f"at most {limit} letters",
                got=len(answer),
            )
        return answer

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Ask several questions at once: the server decides how it joins them."""
        with ThreadPoolExecutor(self._decoding.batch, thread_name_prefix="openai") as pool:
            return list(pool.map(lambda question: self.answer(*question), questions))


@dataclass(frozen=True, slots=True)
class _Server:
    """A server and how it is asked; its key appears in no message and no `repr`."""

    reference: SubjectReference
    options: ServerOptions
    key: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep

    @property
    def where(self) -> str:
        return self.reference.target

    def check_model(self) -> None:
        """Say in time that a server is dead or has another model; one that lists none is believed.

        Raises:
            InputError: It is not reached or does not have the model.
        """
        answer = self.ask("/models", None, tolerated=(404, 405, 501))
        match answer.value:
            case {"data": list(models)}:
                names = [str(model.get("id")) for model in models if isinstance(model, dict)]
                if names and self.reference.model not in names:
                    raise InputError(
                        f"{self.where} has no model of this name", got=self.reference.model, available=names
                    )

    def ask(self, path: str, body: object | None, tolerated: Sequence[int] = ()) -> HttpAnswer:
        """Ask until there is an answer, the attempts are used up or the deadline is too near.

        Raises:
            ServerError: There is none; the reason is that of the last attempt.
        """
        until_s = time.monotonic() + self.options.deadline_s
        for attempt in range(self.options.retries + 1):
            wait_s = _FIRST_WAIT_S * 2**attempt
            try:
                answer = self._once(path, body, until_s)
            except ServerError as error:
                if not error.may_mend_itself:
                    raise
                problem = error
            else:
                if answer.status in {200, *tolerated}:
                    return answer
                problem = self._problem(answer)
                if answer.status not in _BUSY:
                    raise problem
                wait_s = max(wait_s, answer.retry_after_s or 0.0)
            if attempt == self.options.retries or time.monotonic() + wait_s >= until_s:
                break
            self.sleep(wait_s)
        raise problem

    def _once(self, path: str, body: object | None, until_s: float) -> HttpAnswer:
        return request_json(
            self.where + path,
            body,
            headers={"Authorization": f"Bearer {self.key}"} if self.key else {},
            connect_s=self.options.connect_s,
            until_s=until_s,
            max_bytes=self.options.max_answer_bytes,
        )

    def _problem(self, answer: HttpAnswer) -> ServerError:
        said = ""
        match answer.value:
            case {"error": {"message": str(said)}} | {"error": str(said)} | {"message": str(said)}:
                pass
        said = tidy(said)
        if self.key:
            said = said.replace(self.key, "(the key)")
        words = f": {said[:_SHOWN_LETTERS]}" if said else ""
        return ServerError(f"{self.where} answers with status {answer.status}{words}")


def _key(key_env: str) -> str:
    """Return the key that a variable of the environment holds.

    Raises:
        UsageError: The variable is empty, or is no name of one: perhaps the key itself.
    """
    if not key_env:
        return ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", key_env):
        raise UsageError("server.key_env is no name of an environment variable (is it the key itself?)")
    key = os.environ.get(key_env, "").strip()
    if not key:
        raise UsageError(f"the environment variable {key_env} is not set", expected="the server's key in it")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"the key in {key_env} has letters that no header can carry")
    return key


def _data_url(frame: Frame) -> str:
    done, png = cv2.imencode(".png", cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2BGR))
    if not done:
        raise InputError("a picture cannot be written as PNG", got=frame.rgb.shape)
    return "data:image/png;base64," + base64.b64encode(png.tobytes()).decode()


def _content_of(value: Any, where: str) -> str:
    """Return the words of a completion.

    Raises:
        ServerError: It is none.
    """
    match value:
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [{"message": {"content": None}}, *_]}:
            return ""
        case {"choices": [{"message": {"content": list(parts)}}, *_]}:
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            return " ".join(text for text in texts if isinstance(text, str))
    raise ServerError(f"{where} gives no chat completion")

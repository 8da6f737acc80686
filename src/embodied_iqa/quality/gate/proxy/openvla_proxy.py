"""The proxy by HTTP: OpenVLA's protocol on both sides, a gate for each client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from threading import Event
from time import monotonic
from typing import Any, Final, Self

from embodied_iqa.base.errors import EmbodiedIqaError
from embodied_iqa.models.subjects.inference import InferenceQueue, Outcome, OutcomeKind
from embodied_iqa.models.subjects.serving.admission import Admission
from embodied_iqa.models.subjects.serving.http_listener import HttpListener, HttpQuestion, HttpReply
from embodied_iqa.models.subjects.serving.listener import ServingOptions, StoppableServer
from embodied_iqa.models.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.models.subjects.wire.errors import DeadlineError, WireError, one_line
from embodied_iqa.models.subjects.wire.openvla import OPENVLA_PATH, OpenVlaClient
from embodied_iqa.models.subjects.wire.policy_client import WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.quality.gate.proxy.gated_policy import GATE
from embodied_iqa.quality.gate.proxy.hold_answers import HeldError
from embodied_iqa.quality.gate.proxy.live_view import LIVE_PATH, shows_images
from embodied_iqa.quality.gate.proxy.openvla_form import AnswerForm, QuestionError, header_of, observation_of
from embodied_iqa.quality.gate.proxy.proxy_server import GateSetting

GATE_PATH: Final = "/gate"
"""Where the proxy gives its part of what openpi calls metadata."""
CLIENT_HEADER: Final = "gate-client"
"""Name of a client, where several share an address."""
_CHECK_S: Final = 5.0
_LONGEST_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class OpenVlaPlace:
    """The policy server behind the proxy.

    Attributes:
        address: Host and port.
        path: Where it takes questions; the clients use the same one.
        limits: Limits of each question.
        token: Its token; may be empty.
    """

    address: Address
    path: str = OPENVLA_PATH
    limits: WireLimits = WireLimits()  # noqa: RUF009 - it is frozen
    token: str = ""

    def client(self) -> OpenVlaClient:
        """Return a client."""
        return OpenVlaClient(self.address, self.path, self.limits, self.token)

    def reached(self, wait_s: float) -> tuple[Self, dict[str, Any]]:
        """Wait for the policy; return the place, and no metadata, which the protocol does not have.

        Raises:
            InputError: No policy server answers in time, or it has another path.
        """
        deadline = Deadline.after(wait_s, f"no policy server answers at {self.address}")
        client = self.client()
        retrying(lambda: client.check(min(_CHECK_S, deadline.left_s())), deadline, None, Event())
        return self, {}


class _Session:
    """The gated policy of one client; it decodes, judges, asks and encodes in a thread of its own."""

    def __init__(
        self, setting: GateSetting, policy: OpenVlaClient, options: ServingOptions, client: str
    ) -> None:
        self._form = AnswerForm()
        self._most_bytes = options.most_bytes
        self._gated = setting.gated(lambda seen: self._form.actions(policy.ask(seen)), client)
        self.queue: InferenceQueue[bytes, HttpReply] = InferenceQueue(
            "gate proxy", self._answers, limit=options.most_waiting
        )

    def _answers(self, bodies: Sequence[bytes]) -> list[HttpReply]:
        return [self._answer(body) for body in bodies]

    def _answer(self, body: bytes) -> HttpReply:
        try:
            observation, is_double = observation_of(body, self._most_bytes)
            answer = dict(self._gated.respond(observation))
        except QuestionError as error:
            return _failed(HTTPStatus.BAD_REQUEST, error)
        except HeldError as error:
            return _failed(HTTPStatus.CONFLICT, error, error.report)
        except DeadlineError as error:
            return _failed(HTTPStatus.GATEWAY_TIMEOUT, error)
        except WireError as error:
            return _failed(HTTPStatus.BAD_GATEWAY, error)
        report = answer.pop(GATE)
        return HttpReply(
            HTTPStatus.OK, self._form.value(answer, is_double=is_double), {GATE: header_of(report)}
        )


class OpenVlaProxy(StoppableServer):
    """Serves a policy behind the gate.

    Args:
        setting: The gate.
        place: The policy server.
        options: Where, and the limits; ``deadline_s`` covers judging and the policy.
    """

    def __init__(self, setting: GateSetting, place: OpenVlaPlace, options: ServingOptions) -> None:
        self._setting = setting
        self._place = place
        self._options = options
        self._policy = place.client()
        self._listener = HttpListener(options, self._answer)
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._clients: Admission[tuple[str, str]] = Admission(
            options.most_connections, options.most_per_address, options.idle_s
        )

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Serve inside of the block; gives the port."""
        try:
            async with self._listener.listening() as port:
                yield port
        finally:
            self._policy.close()  # whoever waits for the policy gets an error, and ends
            for session in self._sessions.values():
                session.queue.close(0.0)

    async def _answer(self, question: HttpQuestion) -> HttpReply:
        if question.method == "GET" and question.path == GATE_PATH:
            return HttpReply(HTTPStatus.OK, {GATE: self._setting.metadata})
        if question.method == "GET" and question.path == LIVE_PATH:
            images = shows_images(question.query)
            return HttpReply(HTTPStatus.OK, await asyncio.to_thread(self._setting.live, images))
        if question.path != self._place.path:
            return HttpReply(HTTPStatus.NOT_FOUND, f"questions go to {self._place.path}")
        if question.method != "POST":
            return HttpReply(HTTPStatus.METHOD_NOT_ALLOWED, "a question is a POST")
        name = question.headers.get(CLIENT_HEADER, "")
        if len(name) > _LONGEST_NAME:
            return HttpReply(HTTPStatus.BAD_REQUEST, f"a name has at most {_LONGEST_NAME} characters")
        client = (question.address, name)
        session = self._session(client)
        if session is None:
            return HttpReply(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients")
        self._clients.asked(client)
        asked = session.queue.submit(question.body, deadline_s=self._options.deadline_s)
        try:
            return self._reply(await asyncio.wrap_future(asked))
        finally:
            self._clients.answered(client, monotonic())

    def _session(self, client: tuple[str, str]) -> _Session | None:
        """Return the session of a client; None where others have all places."""
        if client not in self._sessions:
            admitted, displaced = self._clients.admit(client, client[0], monotonic())
            if displaced is not None:
                self._sessions.pop(displaced).queue.close(0.0)
                self._setting.attend(_words_of(displaced), is_here=False)
            if not admitted:
                return None
            name = _words_of(client)
            self._setting.attend(name, is_here=True)
            self._sessions[client] = _Session(self._setting, self._policy, self._options, name)
        return self._sessions[client]

    def _reply(self, outcome: Outcome[HttpReply]) -> HttpReply:
        if outcome.result is not None:
            return outcome.result
        if outcome.kind is OutcomeKind.REFUSED:
            return HttpReply(HTTPStatus.SERVICE_UNAVAILABLE, "busy: a question of this client waits already")
        if outcome.kind is OutcomeKind.FAILED:
            return HttpReply(HTTPStatus.INTERNAL_SERVER_ERROR, one_line(outcome.reason))
        return HttpReply(HTTPStatus.GATEWAY_TIMEOUT, one_line(outcome.reason))


def _words_of(client: tuple[str, str]) -> str:
    address, name = client
    return f"{address} {one_line(name)}" if name else address


def _failed(
    status: HTTPStatus, error: EmbodiedIqaError, report: Mapping[str, Any] | None = None
) -> HttpReply:
    """Return a line of text instead of an action: what takes an answer for numbers fails on it."""
    headers = {GATE: header_of(report)} if report else {}
    return HttpReply(status, f"{type(error).__name__}: {one_line(str(error))}", headers)

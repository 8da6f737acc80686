"""The proxy: openpi's protocol on both sides, a gate and a connection to the policy for each client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.models.subjects.alternative_names import policies_in
from embodied_iqa.models.subjects.inference import InferenceQueue
from embodied_iqa.models.subjects.serving.conversation import Conversation, SubjectQueue
from embodied_iqa.models.subjects.serving.listener import Listener, ServingOptions, StoppableServer
from embodied_iqa.models.subjects.subject_options import Acts
from embodied_iqa.models.subjects.wire.errors import WireError, one_line
from embodied_iqa.models.subjects.wire.openvla import OPENVLA_PATH
from embodied_iqa.models.subjects.wire.policy_client import OWN_PROTOCOL, PolicyClient, WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.quality.gate.proxy.gated_policy import (
    GATE,
    GatedPolicy,
    Policy,
    ProxyOptions,
    Witness,
    unwatched,
)
from embodied_iqa.quality.gate.proxy.live_view import LIVE_PATH, shows_images

_LONGEST_REASON: Final = 100
"""A websocket is closed with at most 123 bytes of text."""
_AGAIN_S: Final = 1.0
"""For a policy that has answered before: its client can be greeted without it."""


@dataclass(frozen=True, slots=True)
class PolicyPlace:
    """The policy server behind the proxy.

    Attributes:
        address: Host and port.
        limits: Limits of each connection.
        token: Its token; may be empty.
        clock: Of the deadlines.
        greeting: First message of the policy, with which clients are greeted while it is gone; empty where it
            is not known yet.
    """

    address: Address
    limits: WireLimits = WireLimits()  # noqa: RUF009 - it is frozen
    token: str = ""
    clock: Clock = MONOTONIC
    greeting: bytes = b""

    def client(self, connect_s: float | None = None) -> PolicyClient:
        """Return a client that is not connected yet, and waits as long for a policy; None: by the limits."""
        limits = self.limits if connect_s is None else replace(self.limits, connect_s=connect_s)
        return PolicyClient(self.address, limits, self.token, self.clock)

    def reached(self, wait_s: float) -> tuple[Self, dict[str, Any]]:
        """Wait for the policy; return the place with its greeting, and its metadata.

        Raises:
            WireError: No policy server answers in time.
        """
        client = self.client(wait_s)
        try:
            metadata = client.connect()
        finally:
            client.close()
        return replace(self, greeting=client.greeting), metadata


def unattended(_client: str, *, is_here: bool, why: str = "") -> None:
    """Note nothing."""


class Attendance(Protocol):
    """Is told who came and who left."""

    def __call__(self, client: str, /, *, is_here: bool, why: str = "") -> None:
        """Note that a client came or left; ``why`` where it had to."""


@dataclass(frozen=True, slots=True)
class GateSetting:
    """The gate of each client.

    Attributes:
        judge: Judges images; shared by all clients.
        rules: Rules of the gate.
        options: What is judged, and what happens on a hold.
        witness: Looks on.
        live: What the proxy shows of itself at `LIVE_PATH`, with images or without.
        attend: Is told who came and who left.
        unfitted: Cameras with their sizes that the judge was not fitted for: statistics judge them.
        fitted_to: Policies that the judge was fitted to; none for statistics.
    """

    judge: ImageJudge
    rules: GateOptions
    options: ProxyOptions
    witness: Witness = unwatched
    live: Callable[[bool], dict[str, Any]] = lambda _images: {}
    unfitted: tuple[str, ...] = ()
    fitted_to: tuple[str, ...] = ()
    attend: Attendance = unattended

    def gated(self, policy: Policy, client: str) -> GatedPolicy:
        """Return the policy of a client behind a gate of its own."""
        gate = Gatekeeper(self.judge, self.rules)
        return GatedPolicy(gate, self.options, policy, witness=self.witness, client=client)

    @property
    def metadata(self) -> dict[str, Any]:
        """The gate's part of the metadata."""
        cameras = {
            camera.key: {"view": str(camera.view), "rotated_deg": 180 if camera.turned else 0}
            for camera in self.options.cameras
        }
        return {
            "mode": str(self.rules.mode),
            "judge": str(self.rules.kind),
            "judged_by_statistics": list(self.unfitted),
            "fitted_to": list(self.fitted_to),
            "on_hold": str(self.options.hold.kind),
            "cameras": cameras,
        }


def stranger_in_words(fitted_to: Sequence[str], address: str, metadata: Mapping[str, Any]) -> str:
    """Return that a judge was not, or perhaps not, fitted to the policy behind the proxy; empty if it was.

    What can be compared are names: that of the server's metadata, and the server's address, by which the
    policy was called where the fit asked it there.

    Args:
        fitted_to: Policies that the judge was fitted to.
        address: Reference of the server, such as ``openpi://gpu:8000``.
        metadata: Of the server; those of other projects may have no name.
    """
    name, version, revision = (
        one_line(word) if isinstance(word := metadata.get(key), str) else ""
        for key in ("name", "version", "revision")
    )
    called = Acts.of_version(version).policy_of(name)
    known = {called, f"{name}@{revision}"} if name else set()
    known.add(_place_of(address))
    others = [policy for policy in fitted_to if not known & _names_of(policy)]
    if not others:
        return ""
    server = f"the server calls itself {called}" if name else "the server does not say its name"
    part = " for some cameras or sizes" if len(others) < len(fitted_to) else ""
    return f"the judge was{part} fitted to {', '.join(others)}, and promises nothing of others; {server}"


def _names_of(policy: str) -> set[str]:
    """Return what a policy may be called: ``A or B`` is A and B, ``NAME=ADDRESS`` is NAME and ADDRESS."""
    words = {word for one in policies_in(policy) for word in (one, *one.split("=", 1))}
    return {_place_of(word) if "://" in word else word for word in words}


def _place_of(address: str) -> str:
    """Return an address without what makes no other place of it: how a policy acts, and OpenVLA's path."""
    return address.partition(" (acts ")[0].rstrip("/").removesuffix(OPENVLA_PATH)


class _Session:
    """The gated policy of one client, as a `Servable`."""

    batches = False

    def __init__(
        self, setting: GateSetting, policy: PolicyClient, metadata: Mapping[str, Any], client: str
    ) -> None:
        self._gated = setting.gated(policy.infer, client)
        self._numbered = metadata.get("protocol") == OWN_PROTOCOL
        self.identity: dict[str, Any] = {}  # the policy's answer has its own
        self.metadata = {**metadata, GATE: setting.metadata}

    def understand(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the observation as it came."""
        return message

    def answer(self, questions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answer observations, one answer each."""
        return [self._answer(observation) for observation in questions]

    def _answer(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._gated.respond(observation)
        if self._numbered:  # the number is that of the question to the policy, not of the client's
            answer.pop("request", None)
        return answer


class GateProxy(StoppableServer):
    """Serves a policy behind the gate.

    Args:
        setting: The gate.
        place: The policy server.
        options: Where, and the limits; ``deadline_s`` covers judging and the policy.
    """

    def __init__(self, setting: GateSetting, place: PolicyPlace, options: ServingOptions) -> None:
        self._setting = setting
        self._place = place
        self._options = options
        self._greeting = place.greeting
        pages = {LIVE_PATH: lambda query: json.dumps(setting.live(shows_images(query)))}
        self._listener = Listener(options, self._converse, lambda: True, pages)

    def listening(self) -> AbstractAsyncContextManager[int]:
        """Serve inside of the block; gives the port."""
        return self._listener.listening()

    async def _converse(self, connection: ServerConnection) -> None:
        client = str(Address(*connection.remote_address[:2]))
        self._setting.attend(client, is_here=True)
        try:
            await self._serve_client(connection, client)
        finally:
            self._setting.attend(client, is_here=False, why=self._why_closed(connection))

    def _why_closed(self, connection: ServerConnection) -> str:
        sent = connection.protocol.close_sent
        if sent is None or sent.code != CloseCode.MESSAGE_TOO_BIG:
            return ""
        most_mib = self._options.most_bytes >> 20
        return f"its message is longer than {most_mib} MiB (--most-mib), so the connection is closed"

    async def _serve_client(self, connection: ServerConnection, client: str) -> None:
        connect_s = _AGAIN_S if self._greeting else None
        with closing(
            self._place.client(connect_s)
        ) as policy:  # who waits for the policy gets an error, and ends
            try:
                metadata = await _metadata_of(policy, connection)
                self._greeting = policy.greeting or self._greeting
            except WireError as error:
                if not self._greeting:
                    await connection.close(CloseCode.TRY_AGAIN_LATER, one_line(str(error))[:_LONGEST_REASON])
                    return
                metadata = policy.expect(self._greeting)  # its questions get the error
            if metadata is None:
                return
            session = _Session(self._setting, policy, metadata, client)
            queue: SubjectQueue = InferenceQueue("gate proxy", session.answer, limit=1)
            try:
                await Conversation(connection, session, queue, self._options).hold(self._listener)
            finally:
                queue.close(0.0)


async def _metadata_of(policy: PolicyClient, client: ServerConnection) -> dict[str, Any] | None:
    """Connect to the policy; None where the client leaves before: attempts for it must not pile up.

    Raises:
        WireError: No policy server answers.
    """
    connecting: asyncio.Future[Any] = asyncio.ensure_future(asyncio.to_thread(policy.connect))
    left: asyncio.Future[Any] = asyncio.ensure_future(client.wait_closed())
    try:
        await asyncio.wait({connecting, left}, return_when=asyncio.FIRST_COMPLETED)
        metadata: dict[str, Any] | None = connecting.result() if connecting.done() else None
    finally:
        left.cancel()
        connecting.cancel()  # takes one that has not started out of the threads' queue
    return metadata

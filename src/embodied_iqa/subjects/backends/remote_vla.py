"""VLAs that run elsewhere: behind openpi's protocol, or behind OpenVLA's HTTP server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.images.frame import View, parse_view
from embodied_iqa.subjects.actions.adapter import arm_joints, checked_rows, to_increments
from embodied_iqa.subjects.actions.convention import ActionConvention, ActionKind, ObservationForm
from embodied_iqa.subjects.actions.observation import observation_for, square
from embodied_iqa.subjects.actions.statistics import Statistics, load_statistics
from embodied_iqa.subjects.actions.table import CONVENTIONS, OWN, convention_of
from embodied_iqa.subjects.catalogue import find_entry
from embodied_iqa.subjects.options import PolicyOptions, ServerOptions, VlaRequest
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from embodied_iqa.subjects.wire import json_arrays
from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import ProtocolError, ServerError, one_line
from embodied_iqa.subjects.wire.http import post
from embodied_iqa.subjects.wire.policy_client import OWN_PROTOCOL, PolicyClient, WireLimits, token_from
from embodied_iqa.subjects.wire.retries import retrying
from embodied_iqa.subjects.wire.sockets import Address, TimedSocket

__all__ = ["OpenPiVla", "OpenVlaHttp", "chunk_from_rows"]

_DEFAULT_VIEWS: Final = (View.TOP,)
_LONGEST_WORDS: Final = 200
_OPENPI_PORT: Final = 8000
_UNNORM_KEYS: Final = {"openvla-bridge": "bridge_orig"}
"""Which of its data sets a policy of a convention un-normalises with, where it knows several."""


class OpenPiVla:
    """A policy behind openpi's websocket protocol: openpi's own, or one that `embodied-iqa serve` offers.

    Connects when it is made.

    Args:
        request: Where it is and how it is used.

    Raises:
        WireError: No policy server answers in time.
        UsageError: It is not said what its actions mean.
    """

    def __init__(self, request: VlaRequest) -> None:
        server, reference = request.options.server, request.reference
        address, _ = _address(reference.target)
        self._statistics = _statistics(request.options.policy)
        self._client = PolicyClient(address, _limits(server), token_from(server.key_env))
        request.progress(f"connecting to {address}")
        metadata = self._client.connect()
        try:
            self._convention = _convention(request, metadata)
            self._info = _info(request, metadata)
        except BaseException:
            self._client.close()
            raise

    @property
    def info(self) -> SubjectInfo:
        """Who acts."""
        return self._info

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Ask the server what to do next.

        Raises:
            WireError: No usable answer in time.
            InputError: The actions are not what the convention says.
        """
        convention = self._convention
        q_rad = None
        if convention.kind is ActionKind.JOINTS:
            q_rad = arm_joints(convention, observation.T_base_tool)
        answer = self._client.infer(observation_for(convention, observation, self._info.views, q_rad))
        if convention is OWN:
            return _own_chunk(answer)
        if "actions" not in answer:
            raise ProtocolError("the policy gives no actions", available=list(answer)[:20])
        return chunk_from_rows(answer["actions"], convention, observation, self._statistics, q_rad)

    def close(self) -> None:
        """Hang up; wakes nobody and may be called twice."""
        self._client.close()


class OpenVlaHttp:
    """OpenVLA's ``deploy.py`` or OpenVLA-OFT's: HTTP POST of picture and instruction.

    The protocol has no metadata: name and version are the user's word.

    Args:
        request: Where it is and how it is used.

    Raises:
        WireError: Nobody listens there.
        UsageError: It is not said what its actions mean.
    """

    def __init__(self, request: VlaRequest) -> None:
        server = request.options.server
        self._address, path = _address(request.reference.target)
        self._path = path or "/act"
        self._limits = _limits(server)
        token = token_from(server.key_env)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._statistics = _statistics(request.options.policy)
        self._convention = _convention(request, {})
        self._unnorm_key = request.options.policy.unnorm_key or _UNNORM_KEYS.get(self._convention.name, "")
        self._info = _info(request, {})
        self._stop = Event()
        request.progress(f"connecting to {self._address}")
        deadline = Deadline.after(server.connect_s, f"nobody answers at {self._address}")
        TimedSocket.connect(self._address, deadline).close()

    @property
    def info(self) -> SubjectInfo:
        """Who acts."""
        return self._info

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Ask the server what to do next.

        Raises:
            WireError: No usable answer in time.
            InputError: The actions are not what the convention says.
        """
        limits, address = self._limits, self._address
        deadline = Deadline.after(limits.answer_s, f"no answer from {address}")
        body = json_arrays.pack(self._question(observation))
        answer = retrying(lambda: self._post(body, deadline), deadline, limits.retries, self._stop)
        rows = _rows(json_arrays.unpack(answer, limits.most_bytes), limits.most_bytes)
        return chunk_from_rows(rows, self._convention, observation, self._statistics)

    def close(self) -> None:
        """Wait for nothing any more; no connection is kept open."""
        self._stop.set()

    def _post(self, body: bytes, deadline: Deadline) -> bytes:
        most_bytes = self._limits.most_bytes
        return post(self._address, self._path, body, deadline, most_bytes=most_bytes, headers=self._headers)

    def _question(self, observation: VlaObservation) -> dict[str, Any]:
        views = self._info.views
        if self._convention.observation is ObservationForm.LIBERO:
            told = observation_for(self._convention, observation, views)
            return {
                "full_image": told["observation/image"],
                "wrist_image": told["observation/wrist_image"],
                "state": told["observation/state"],
                "instruction": observation.instruction,
            }
        if views[0] not in observation.frames:
            raise UsageError("a view is missing", expected=str(views[0]), available=observation.frames)
        picture = square(observation.frames[views[0]].rgb, 224)
        question: dict[str, Any] = {"image": picture, "instruction": observation.instruction}
        return {**question, "unnorm_key": self._unnorm_key} if self._unnorm_key else question


def chunk_from_rows(
    rows: Any,
    convention: ActionConvention,
    observation: VlaObservation,
    statistics: Statistics | None = None,
    q_rad: NDArray[np.float64] | None = None,
) -> ActionChunk:
    """Turn a policy's rows into a chunk.

    Raises:
        InputError: They are not what the convention says.
    """
    values = checked_rows(rows, convention)
    if statistics is not None:
        values = statistics.first(convention.numbers).undo(values)
    increments = to_increments(values, convention, observation.T_base_tool, observation.gripper, q_rad)
    return ActionChunk(ChunkStatus.ACT, increments, f"{len(increments)} steps ({convention.name})")


def _rows(answer: Any, most_bytes: int) -> Any:
    """Return the rows of an array, of lists of numbers or arrays, or of JSON of such in a string."""
    if isinstance(answer, str):
        if not answer.lstrip().startswith(("[", "{")):
            raise ServerError(f"OpenVLA's server failed: {one_line(answer)}; its log says why")
        answer = json_arrays.unpack(answer, most_bytes)
    if isinstance(answer, list):
        try:
            answer = np.array(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProtocolError("OpenVLA's server gives no rows of numbers") from None
    if not isinstance(answer, np.ndarray):
        raise ProtocolError("OpenVLA's server gives no actions", got=type(answer).__name__)
    return answer


def _own_chunk(answer: Mapping[str, Any]) -> ActionChunk:
    status = _status(answer.get("status"))
    rows = answer.get("actions")
    if not isinstance(rows, np.ndarray):
        raise ProtocolError("the policy gives no actions", available=list(answer)[:20])
    if (status is ChunkStatus.ACT) != bool(rows.size):
        raise ProtocolError("status and actions contradict each other", got=(str(status), rows.shape))
    increments = np.empty((0, 7))
    if rows.size:
        increments = checked_rows(rows, OWN)[:, :7].copy()
        increments[:, 6] = np.clip(increments[:, 6], 0.0, 1.0)
    reason = answer.get("reason", "")
    words = one_line(reason)[:_LONGEST_WORDS] if isinstance(reason, str) and reason else ""
    return ActionChunk(status, increments, words, _pixel(answer.get("target_px")))


def _status(word: object) -> ChunkStatus:
    if not isinstance(word, str) or word not in set(ChunkStatus):
        raise ProtocolError("unknown status", got=word, available=list(ChunkStatus))
    return ChunkStatus(word)


def _pixel(value: object) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(isinstance(number, int | float) for number in value):
        return None
    return float(value[0]), float(value[1])


def _address(target: str) -> tuple[Address, str]:
    """Return machine and path of an address such as ``openpi://host:8000`` or ``http://host:8000/act``."""
    parts = urlsplit(target)
    secure = parts.scheme in {"https", "openpi+wss"}
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, _OPENPI_PORT)
    return Address(parts.hostname or "", port, secure), parts.path


def _limits(server: ServerOptions) -> WireLimits:
    return WireLimits(server.connect_s, server.deadline_s, server.max_answer_bytes, server.retries)


def _statistics(policy: PolicyOptions) -> Statistics | None:
    if not policy.statistics:
        return None
    return load_statistics(Path(policy.statistics), policy.statistics_key)


def _convention(request: VlaRequest, metadata: Mapping[str, Any]) -> ActionConvention:
    if metadata.get("protocol") == OWN_PROTOCOL:
        if metadata.get("role") != "vla":
            raise InputError("the server does not offer a VLA", got=metadata.get("role"))
        return OWN
    entry = request.reference.entry
    name = request.options.policy.convention or (entry.convention if entry is not None else "")
    told = metadata.get("convention")
    if isinstance(told, str) and told in CONVENTIONS:
        if name and name != told:
            raise InputError(
                f"the server's policy acts by another convention than {request.reference.text}",
                expected=name,
                got=told,
            )
        name = told
    if not name:
        raise UsageError(
            f"what do the actions of {request.reference.text} mean?",
            expected="a convention (vla_node.policy.convention), or a name of the catalogue in front",
            available=CONVENTIONS,
        )
    return convention_of(name)


def _info(request: VlaRequest, metadata: Mapping[str, Any]) -> SubjectInfo:
    """Say who it is.

    A subject that our own server names as the catalogue does is that subject, wherever it runs: its constants
    hold. A server that does not tell its version gets one that changes with its metadata.
    """
    policy, reference = request.options.policy, request.reference
    name, version, revision = (_word(metadata, key) for key in ("name", "version", "revision"))
    is_known = metadata.get("protocol") == OWN_PROTOCOL and find_entry(name) is not None
    told = version if is_known else "@".join(word for word in (name, version) if word)
    if not version:
        told = _digest(metadata) if metadata else "untold"
    views = tuple(parse_view(word.strip()) for word in policy.views.split(",") if word.strip())
    if not views:
        views = _views(metadata) or (reference.entry.views if reference.entry is not None else _DEFAULT_VIEWS)
    return SubjectInfo(
        name=name if is_known else reference.text,
        version=policy.version or (f"{told}@{revision}" if revision else told),
        description=_word(metadata, "description") or f"A policy that runs at {reference.target}.",
        views=views,
    )


def _digest(metadata: Mapping[str, Any]) -> str:
    text = json.dumps(metadata, sort_keys=True, default=repr)
    return f"metadata-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _word(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return one_line(value)[:_LONGEST_WORDS] if isinstance(value, str) and value.strip() else ""


def _views(metadata: Mapping[str, Any]) -> tuple[View, ...]:
    words = metadata.get("views")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return ()
    return tuple(parse_view(word) for word in words)

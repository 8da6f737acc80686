"""VLAs that run elsewhere: behind openpi's protocol, or behind OpenVLA's HTTP server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.images.frame import View, parse_view
from embodied_iqa.subjects.actions.adapter import arm_joints, checked_rows, to_increments
from embodied_iqa.subjects.actions.convention import ActionConvention, ActionKind, ObservationForm
from embodied_iqa.subjects.actions.observation import observation_for, square
from embodied_iqa.subjects.actions.statistics import Statistics, load_statistics
from embodied_iqa.subjects.actions.table import CONVENTIONS, OWN, convention_of
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from embodied_iqa.subjects.remote_options import RemoteOptions, RemotePolicy
from embodied_iqa.subjects.wire import json_arrays
from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import ProtocolError, ServerError, one_line
from embodied_iqa.subjects.wire.http import post
from embodied_iqa.subjects.wire.policy_client import OWN_PROTOCOL, PolicyClient, token_from
from embodied_iqa.subjects.wire.sockets import TimedSocket

__all__ = ["OpenPiVla", "OpenVlaHttp", "chunk_from_rows"]

_DEFAULT_VIEWS: Final = (View.TOP,)
_LONGEST_WORDS: Final = 200


class OpenPiVla:
    """A policy behind openpi's websocket protocol: openpi's own, or one that `embodied-iqa serve` offers.

    Connects when it is made.

    Args:
        policy: Where it is and how it is used.

    Raises:
        WireError: No policy server answers in time.
        UsageError: It is not said what its actions mean.
    """

    def __init__(self, policy: RemotePolicy) -> None:
        options = policy.options
        self._client = PolicyClient(policy.address, options.limits, token_from(options.token_env))
        self._statistics = _statistics(options)
        metadata = self._client.connect()
        try:
            self._convention = _convention(options, metadata)
            self._info = _info(options, metadata, f"openpi://{policy.address}")
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
        policy: Where it is and how it is used.

    Raises:
        WireError: Nobody listens there.
        UsageError: It is not said what its actions mean.
    """

    def __init__(self, policy: RemotePolicy) -> None:
        options = policy.options
        self._policy = policy
        self._path = policy.path or "/act"
        token = token_from(options.token_env)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._statistics = _statistics(options)
        self._convention = _convention(options, {})
        self._info = _info(options, {}, f"openvla+http://{policy.address}{self._path}")
        deadline = Deadline.after(options.limits.connect_s, f"nobody answers at {policy.address}")
        TimedSocket.connect(policy.address, deadline).close()

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
        limits, address = self._policy.options.limits, self._policy.address
        deadline = Deadline.after(limits.answer_s, f"no answer from {address}")
        body = json_arrays.pack(self._question(observation))
        answer = post(
            address, self._path, body, deadline, most_bytes=limits.most_bytes, headers=self._headers
        )
        rows = _rows(json_arrays.unpack(answer, limits.most_bytes), limits.most_bytes)
        return chunk_from_rows(rows, self._convention, observation, self._statistics)

    def close(self) -> None:
        """Nothing is kept open."""

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
        key = self._policy.options.unnorm_key
        return {**question, "unnorm_key": key} if key else question


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
        values = statistics.undo(values)
    increments = to_increments(values, convention, observation.T_base_tool, observation.gripper, q_rad)
    return ActionChunk(ChunkStatus.ACT, increments, f"{len(increments)} steps ({convention.name})")


def _rows(answer: Any, most_bytes: int) -> Any:
    """Return the rows of what OpenVLA's server gives: an array, lists of numbers or of arrays, or JSON of it."""
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
    try:
        status = ChunkStatus(answer.get("status"))
    except ValueError:
        raise ProtocolError("unknown status", got=answer.get("status"), available=list(ChunkStatus)) from None
    rows = answer.get("actions")
    if not isinstance(rows, np.ndarray):
        raise ProtocolError("the policy gives no actions", available=list(answer)[:20])
    if (status is ChunkStatus.ACT) != bool(rows.size):
        raise ProtocolError("status and actions contradict each other", got=(str(status), rows.shape))
    increments = (
        np.ascontiguousarray(rows.astype(np.float64, copy=True).reshape(-1, 7)) if not rows.size else None
    )
    if increments is None:
        increments = checked_rows(rows, OWN)[:, :7].copy()
        increments[:, 6] = np.clip(increments[:, 6], 0.0, 1.0)
    reason = answer.get("reason", "")
    words = one_line(reason)[:_LONGEST_WORDS] if isinstance(reason, str) and reason else ""
    return ActionChunk(status, increments, words, _pixel(answer.get("target_px")))


def _pixel(value: object) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(isinstance(number, int | float) for number in value):
        return None
    return float(value[0]), float(value[1])


def _statistics(options: RemoteOptions) -> Statistics | None:
    path = options.statistics_path
    return None if path is None else load_statistics(path, options.statistics_key)


def _convention(options: RemoteOptions, metadata: Mapping[str, Any]) -> ActionConvention:
    if metadata.get("protocol") == OWN_PROTOCOL:
        if metadata.get("role") != "vla":
            raise InputError("the server does not offer a VLA", got=metadata.get("role"))
        return OWN
    name = options.convention or metadata.get("convention")
    if not isinstance(name, str) or not name:
        raise UsageError(
            "what do the policy's actions mean?",
            expected="?convention=NAME in its reference",
            available=CONVENTIONS,
        )
    return convention_of(name)


def _info(options: RemoteOptions, metadata: Mapping[str, Any], reference: str) -> SubjectInfo:
    """Say who it is; a server that does not tell its version gets one that changes with its metadata."""
    told = _digest(metadata) if metadata else "untold"
    version = options.version or _word(metadata, "version") or told
    revision = _word(metadata, "revision")
    views = options.views or _views(metadata) or _DEFAULT_VIEWS
    return SubjectInfo(
        name=options.name or _word(metadata, "name") or reference,
        version=f"{version}@{revision}" if revision and not options.version else version,
        description=_word(metadata, "description") or f"a policy behind {reference}",
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

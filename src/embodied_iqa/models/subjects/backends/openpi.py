"""Policies behind openpi's websocket protocol: openpi's own server, or `embodied-iqa serve`."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import Frame, View, parse_view
from embodied_iqa.models.subjects.actions.action_statistics import Statistics
from embodied_iqa.models.subjects.actions.adapter import checked_rows, joints_seen
from embodied_iqa.models.subjects.actions.convention import ActionConvention
from embodied_iqa.models.subjects.actions.observation import observation_for
from embodied_iqa.models.subjects.actions.table import OWN
from embodied_iqa.models.subjects.backends.policies import (
    chunk_from_rows,
    convention_for,
    statistics_for,
    views_for,
    with_statistics,
)
from embodied_iqa.models.subjects.catalogue import Role, find_entry
from embodied_iqa.models.subjects.subject_options import VlaRequest
from embodied_iqa.models.subjects.wire.errors import ProtocolError, one_line
from embodied_iqa.models.subjects.wire.policy_client import OWN_PROTOCOL, PolicyClient, WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.tokens import token_from
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

_DEFAULT_VIEWS: Final = (View.TOP,)
_MOST_CHARACTERS: Final = 200
_UNKNOWN_ARM: Final = "unknown"
_FURTHEST: Final = 1.0
"""A gripper state is further from half closed: it is of another range."""


class OpenPiVla:
    """A policy on a websocket server; connects when it is made.

    Args:
        request: Reference and options.

    Raises:
        WireError: No policy server answers in time.
        UsageError: The action convention is not known.
    """

    def __init__(self, request: VlaRequest) -> None:
        server = request.options.server
        address, _ = Address.of(request.reference.target)
        limits = WireLimits(server.connect_s, server.deadline_s, server.max_answer_bytes, server.retries)
        self._client = PolicyClient(address, limits, token_from(server.key_env))
        request.progress(f"connecting to {address}")
        metadata = self._client.connect()
        try:
            self._convention = _convention(request, metadata)
            self._statistics = _statistics(request, self._convention)
            self._offers_features = metadata.get("features") is True
            self.info = _info(request, metadata, self._convention, self._statistics)
        except BaseException:
            self._client.close()
            raise

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Query the server for the next chunk.

        Raises:
            WireError: No usable answer in time.
            InputError: The actions do not match the convention.
        """
        convention = self._convention
        q_rad = joints_seen(convention, observation)
        answer = self._client.infer(observation_for(convention, observation, self.info.views, q_rad))
        if convention is OWN:
            return _own_chunk(answer)
        if "actions" not in answer:
            raise ProtocolError("the policy gives no actions", available=list(answer)[:20])
        return chunk_from_rows(answer["actions"], convention, observation, self._statistics, q_rad)

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Query the server for the ``(tokens, C)`` features of an image.

        Raises:
            WireError: No usable answer in time.
            InputError: The server does not offer features.
        """
        if not self._offers_features:
            raise InputError(
                f"{self.info.name} offers no features",
                expected="`features: true` in the metadata (docs/reference/policy-protocols.md)",
            )
        rgb = np.ascontiguousarray(frame.rgb)
        answer = self._client.infer({"features_of": {"view": str(frame.view), "rgb": rgb}})
        return _features(answer.get("features"))

    def close(self) -> None:
        """Close the connection; calling it twice is fine."""
        self._client.close()


def _is_own(metadata: Mapping[str, Any]) -> bool:
    return metadata.get("protocol") == OWN_PROTOCOL


def _convention(request: VlaRequest, metadata: Mapping[str, Any]) -> ActionConvention:
    if not _is_own(metadata):
        return convention_for(request, str(metadata.get("convention", "")))
    if metadata.get("role") != Role.VLA:
        raise InputError("the server does not offer a VLA", got=metadata.get("role"))
    return OWN


def _statistics(request: VlaRequest, convention: ActionConvention) -> Statistics | None:
    policy = request.options.policy
    if convention is OWN and policy.statistics:
        raise UsageError(
            f"{request.reference} gives increments, which are not normalised",
            expected="no policy.statistics",
            got=policy.statistics,
        )
    return statistics_for(policy, convention, request.reference.entry)


def _rate_hz(metadata: Mapping[str, Any], convention: ActionConvention) -> float | None:
    """Return the rate of a chunk's rows: that of the convention, or the one that our own server states."""
    stated = metadata.get("rate_hz") if _is_own(metadata) else None
    if stated is None:
        return convention.rate_hz
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0.0 < stated < math.inf:
        raise ProtocolError(
            "the server states a wrong rate_hz", expected="above 0 Hz", got=one_line(repr(stated))
        )
    return float(stated)


def _info(
    request: VlaRequest,
    metadata: Mapping[str, Any],
    convention: ActionConvention,
    statistics: Statistics | None,
) -> SubjectInfo:
    """Return the description of the subject.

    A subject that our own server calls by a name of the catalogue is that subject, on whichever machine it
    runs: its constants hold. If a server does not state a version, the version is a hash of its metadata.
    """
    reference = request.reference
    name, version, revision = (_word(metadata, key) for key in ("name", "version", "revision"))
    is_known = _is_own(metadata) and find_entry(name) is not None
    stated = version if is_known else "@".join(word for word in (name, version) if word)
    if not version:
        text = json.dumps(metadata, sort_keys=True, default=repr)
        stated = f"metadata-{hashlib.sha256(text.encode()).hexdigest()[:8]}" if metadata else "untold"
    return SubjectInfo(
        name=name if is_known else reference.text,
        version=request.options.policy.version
        or with_statistics(f"{stated}@{revision}" if revision else stated, statistics),
        description=_word(metadata, "description") or f"A policy that runs at {reference.target}.",
        views=views_for(request, _DEFAULT_VIEWS, _views(metadata)),
        simulation_only=reference.simulation_only or _simulation_only(metadata),
        rate_hz=_rate_hz(metadata, convention),
        joints_of=_joints_of(metadata) if _is_own(metadata) else convention.arm,
    )


def _joints_of(metadata: Mapping[str, Any]) -> str:
    """Return the arm whose joints the policy behind our own server commands.

    Our own server gives motions of the tool, but computes them from joints. It always declares whose: without
    the key, or with another value than a string, the arm is unknown, and a real one is not moved.
    """
    stated = metadata.get("joints_of")
    if not isinstance(stated, str):
        return _UNKNOWN_ARM
    return stated and one_line(stated)[:_MOST_CHARACTERS]


def _simulation_only(metadata: Mapping[str, Any]) -> bool:
    """Return whether the policy must not move a real arm.

    Our own server always declares it: without the key, or with another value than a boolean, the policy
    counts as simulation-only. Other servers need not declare it.
    """
    return metadata.get("simulation_only", _is_own(metadata)) is not False


def _word(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return one_line(value)[:_MOST_CHARACTERS] if isinstance(value, str) and value.strip() else ""


def _views(metadata: Mapping[str, Any]) -> tuple[View, ...]:
    words = metadata.get("views")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return ()
    return tuple(parse_view(word) for word in words)


def _own_chunk(answer: Mapping[str, Any]) -> ActionChunk:
    """Return the chunk of our own server."""
    word, rows = answer.get("status"), answer.get("actions")
    if not isinstance(word, str) or word not in set(ChunkStatus):
        raise ProtocolError("unknown status", got=word, available=list(ChunkStatus))
    status = ChunkStatus(word)
    if not isinstance(rows, np.ndarray):
        raise ProtocolError("the policy gives no actions", available=list(answer)[:20])
    if (status is ChunkStatus.ACT) != bool(rows.size):
        raise ProtocolError("status and actions contradict each other", got=(word, rows.shape))
    increments = np.empty((0, 7))
    if rows.size:
        increments = checked_rows(rows, OWN)[:, :7].copy()
        increments[:, 6] = _gripper(increments[:, 6])
    target_px, seen = _pixel(answer.get("target_px")), _probability(answer.get("seen"))
    joints_rad = _joints(answer.get("joints_rad"), len(increments))
    return ActionChunk(status, increments, _word(answer, "reason"), target_px, seen, joints_rad)


def _gripper(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return gripper states in [0, 1]: a network's are often a little beyond, 255 is of another range."""
    if (wrong := np.abs(states - 0.5) > _FURTHEST).any():
        found = float(states[wrong][0])
        raise ProtocolError("a gripper of another range", expected="0 (open) to 1 (closed)", got=found)
    return np.clip(states, 0.0, 1.0)


def _joints(value: object, steps: int) -> NDArray[np.float64] | None:
    """Return the joints after each step, ``(K, 6)``; None of a policy that commands the tool."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.shape == (steps, 6) and value.dtype.kind in "iuf":
        joints_rad = value.astype(np.float64)
        if np.isfinite(joints_rad).all():
            return joints_rad
    got = value.shape if isinstance(value, np.ndarray) else type(value).__name__
    raise ProtocolError("wrong joints_rad", expected=f"({steps}, 6) finite numbers", got=got)


def _features(value: object) -> NDArray[np.float32]:
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.size and value.dtype.kind == "f":
        features = value.astype(np.float32)
        if np.isfinite(features).all():
            return features
    got = (value.shape, str(value.dtype)) if isinstance(value, np.ndarray) else type(value).__name__
    raise ProtocolError("the policy gives no features", expected="(tokens, C) finite numbers", got=got)


def _probability(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0.0 <= value <= 1.0 else None


def _pixel(value: object) -> tuple[float, float] | None:
    match value:
        case [int() | float() as u, int() | float() as v]:
            return float(u), float(v)
    return None

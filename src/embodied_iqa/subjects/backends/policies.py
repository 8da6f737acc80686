"""Options of policies from other stacks: convention, views, statistics; and their rows as chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.images.frame import View, parse_view
from embodied_iqa.subjects.actions.adapter import checked_rows, to_increments
from embodied_iqa.subjects.actions.convention import ActionConvention
from embodied_iqa.subjects.actions.statistics import Statistics, load_statistics
from embodied_iqa.subjects.actions.table import CONVENTIONS, convention_of
from embodied_iqa.subjects.options import PolicyOptions, VlaRequest
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus, VlaObservation


def convention_for(request: VlaRequest, declared: str = "") -> ActionConvention:
    """Return the action convention: of the options, else of the catalogue, else as the server declares it.

    Raises:
        InputError: The server declares another.
        UsageError: It is unknown, or none is given.
    """
    reference = request.reference
    entry = reference.entry
    name = request.options.policy.convention or (entry.convention if entry is not None else "")
    if declared in CONVENTIONS:
        if name not in {"", declared}:
            raise InputError(
                f"the server's policy has another convention than {reference}",
                expected=name,
                got=declared,
            )
        name = declared
    if not name:
        raise UsageError(
            f"what do the actions of {reference} mean?",
            expected="a convention (vla_node.policy.convention), or a name of the catalogue in front",
            available=CONVENTIONS,
        )
    return convention_of(name)


def views_for(
    request: VlaRequest, default: tuple[View, ...], declared: tuple[View, ...] = ()
) -> tuple[View, ...]:
    """Return the policy's cameras: of the options, else of the server, of the catalogue, or the default."""
    words = request.options.policy.views.split(",")
    entry = request.reference.entry
    named = tuple(parse_view(word.strip()) for word in words if word.strip())
    return named or declared or (entry.views if entry is not None else default)


def statistics_for(policy: PolicyOptions) -> Statistics | None:
    """Return the statistics of the actions, where the user names a file."""
    if not policy.statistics:
        return None
    return load_statistics(Path(policy.statistics), policy.statistics_key)


def chunk_from_rows(
    rows: Any,
    convention: ActionConvention,
    observation: VlaObservation,
    statistics: Statistics | None = None,
    q_rad: NDArray[np.float64] | None = None,
) -> ActionChunk:
    """Return a policy's rows as a chunk.

    Raises:
        InputError: They do not match the convention.
    """
    values = checked_rows(rows, convention)
    if statistics is not None:
        values = statistics.first(convention.numbers).undo(values)
    increments = to_increments(values, convention, observation.T_base_tool, observation.gripper, q_rad)
    return ActionChunk(ChunkStatus.ACT, increments, f"{len(increments)} steps ({convention.name})")

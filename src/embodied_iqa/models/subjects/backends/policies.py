"""Options of policies from other stacks: convention, views, statistics; and their rows as chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.actions.action_statistics import Statistics, load_statistics
from embodied_iqa.models.subjects.actions.adapter import checked_rows, joint_targets, to_increments
from embodied_iqa.models.subjects.actions.convention import ActionConvention
from embodied_iqa.models.subjects.actions.table import CONVENTIONS, convention_of
from embodied_iqa.models.subjects.catalogue import Role, StatisticsKind, SubjectEntry
from embodied_iqa.models.subjects.reference import LOCATIONS, SubjectReference
from embodied_iqa.models.subjects.subject_options import PolicyOptions, VlaRequest
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, VlaObservation


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
            expected="--set vla_node.policy.convention=CONVENTION, or a name of the catalogue in front",
            available=CONVENTIONS,
        )
    return convention_of(name)


def needs_convention(reference: SubjectReference) -> bool:
    """Return whether the name of a policy of another stack does not say what its actions mean."""
    is_unnamed = reference.role is Role.VLA and reference.entry is None and reference.backend in LOCATIONS
    return is_unnamed or any(needs_convention(part) for part in reference.parts)


def views_for(
    request: VlaRequest, default: tuple[View, ...], declared: tuple[View, ...] = ()
) -> tuple[View, ...]:
    """Return the policy's cameras: of the options, else of the server, of the catalogue, or the default."""
    entry = request.reference.entry
    return request.options.policy.named_views or declared or (entry.views if entry is not None else default)


def statistics_for(
    policy: PolicyOptions, convention: ActionConvention | None = None, entry: SubjectEntry | None = None
) -> Statistics | None:
    """Return the statistics of the actions, where the user names a file.

    Their kind is that of the options, else of the policy's family in the catalogue, else of the convention.

    Args:
        policy: Options.
        convention: Convention of the actions; None for that of the options.
        entry: The policy in the catalogue, if it is one.

    Raises:
        UserError: See `load_statistics`; or the file has too few numbers for the convention.
    """
    if not policy.statistics:
        return None
    if convention is None and policy.convention:
        convention = convention_of(policy.convention)
    stated = [policy.statistics_kind, entry and entry.statistics, convention and convention.statistics]
    kind = next((one for one in stated if one and one is not StatisticsKind.AUTO), StatisticsKind.AUTO)
    path = Path(policy.statistics)
    found = load_statistics(path, policy.statistics_key, kind=kind)
    if convention is not None and len(found.centre) < convention.numbers:
        expected = f"at least {convention.numbers} numbers"
        raise InputError(f"{path} does not fit {convention.name}", expected=expected, got=len(found.centre))
    return found


def with_statistics(version: str, statistics: Statistics | None) -> str:
    """Return the version of a policy whose actions are un-normalised here: that of its server and a hash."""
    return version if statistics is None else f"{version}+{statistics.digest()}"


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
    return ActionChunk(
        ChunkStatus.ACT,
        increments,
        f"{len(increments)} steps ({convention.name})",
        joints_rad=joint_targets(values, convention, observation),
    )

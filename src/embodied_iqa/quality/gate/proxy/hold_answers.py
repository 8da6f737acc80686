"""What a client gets instead of the policy's answer while the gate holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.quality.gate.proxy.observed_images import one_value

ACTIONS: Final = "actions"
_ROWS: Final = 2


class HeldError(InputError):
    """The gate holds, and there is no action instead.

    Attributes:
        report: The gate's part of the answer that is not given.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.report: dict[str, Any] = {}


class HoldKind(StrEnum):
    """Answers to an observation that does not pass."""

    ERROR = "error"
    """None: openpi's client raises."""
    REPEAT = "repeat"
    """The state of the robot in every row: for absolute actions."""
    ZERO = "zero"
    """No change in every row: for deltas and velocities."""
    LAST = "last"
    """The newest answer that was released, if it is to the same prompt."""


@dataclass(frozen=True, slots=True)
class HoldOptions:
    """Choice of the answer.

    Attributes:
        kind: Answer during a hold: an error, the state again, zero, or the last released answer.
        state: Keys of the state, joined in this order, as wide as an action; for `HoldKind.REPEAT`.
        absolute: Columns of an action that are not a change, such as a gripper, with the keys of their state,
            ``KEY:INDEX`` where it is one of several numbers; for `HoldKind.ZERO`.
        last_s: Greatest age of the answer of --on-hold last [s].
    """

    kind: HoldKind = HoldKind.ERROR
    state: tuple[str, ...] = ()
    absolute: tuple[tuple[int, str], ...] = ()
    last_s: float = ranged(1.0, 0.001, 60.0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if (self.kind is HoldKind.REPEAT) != bool(self.state):
            raise UsageError(
                "--on-hold repeat and --state-key KEY need each other", got=f"--on-hold {self.kind}"
            )
        if self.absolute and self.kind is not HoldKind.ZERO:
            raise UsageError("--absolute is for --on-hold zero", got=str(self.kind))


@dataclass(frozen=True, slots=True)
class Released:
    """The newest answer of the policy that was released.

    Attributes:
        answer: The answer.
        stamp_ns: When its observation came, on the clock of the session.
        texts: Of its observation, see `texts_of`.
    """

    answer: Mapping[str, Any]
    stamp_ns: int
    texts: Mapping[str, list[str]]


def shape_of(answer: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return rows and numbers of a chunk of actions, None where the answer holds none."""
    actions = answer.get(ACTIONS)
    if not isinstance(actions, np.ndarray) or actions.ndim != _ROWS or actions.dtype.kind not in "iuf":
        return None
    return actions.shape[0], actions.shape[1]


def texts_of(values: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    """Return the texts of an observation by key, such as the prompt."""
    texts = {key: [value for value in found if isinstance(value, str)] for key, found in values.items()}
    return {key: found for key, found in texts.items() if found}


def held_answer(
    options: HoldOptions,
    values: Mapping[str, list[Any]],
    shape: tuple[int, int] | None,
    last: Released | None,
    now_ns: int,
) -> dict[str, Any]:
    """Return the answer instead of the policy's.

    Args:
        options: The choice.
        values: The observation, see `values_of`.
        shape: Of the policy's chunks; None where it has not answered yet.
        last: The newest released answer; None where there is none.
        now_ns: Time on the clock of the session.

    Raises:
        InputError: There is none; the message says why.
    """
    if options.kind is HoldKind.ERROR:
        raise InputError("no action is released")
    if options.kind is HoldKind.LAST:
        if last is None or now_ns - last.stamp_ns > options.last_s * SECOND_NS:
            raise InputError(f"no answer was released within {options.last_s:g} s")
        asked = texts_of(values)
        if asked != last.texts:  # another task: the arm must not go on with the one before
            other = [key for key in {**asked, **last.texts} if asked.get(key) != last.texts.get(key)]
            raise InputError(f"the last released answer is to another text at {other[0]}")
        return dict(last.answer)
    if shape is None:
        raise InputError("the policy has not answered yet, the shape of its actions is not known")
    if options.kind is HoldKind.REPEAT:
        state = np.concatenate([_numbers(values, key) for key in options.state])
        if len(state) != shape[1]:
            raise InputError("the state is not as wide as an action", expected=str(shape[1]), got=len(state))
        return {ACTIONS: np.tile(state, (shape[0], 1))}
    return {ACTIONS: _no_change(options, values, shape)}


def _no_change(
    options: HoldOptions, values: Mapping[str, list[Any]], shape: tuple[int, int]
) -> NDArray[np.float64]:
    actions = np.zeros(shape)
    for column, key in options.absolute:
        if column >= shape[1]:
            expected = f"one of 0 to {shape[1] - 1}"
            raise InputError(f"the actions have no column {column} for {key}", expected=expected)
        actions[:, column] = _number(values, key)
    return actions


def _number(values: Mapping[str, list[Any]], name: str) -> float:
    """Return the number at ``KEY`` or ``KEY:INDEX``."""
    key, colon, index = name.rpartition(":")
    if name in values or not (colon and index.isdecimal()):
        state = _numbers(values, name)
        if len(state) != 1:
            more = f", or such as {name}:{len(state) - 1} for the last one" if len(state) else ""
            expected = f"one number{more}"
            got = f"{len(state)} numbers"
            raise InputError(f"{name} is not the state of a column", expected=expected, got=got)
        return float(state[0])
    state = _numbers(values, key)
    if int(index) >= len(state):
        raise InputError(f"{key} has no number {index}", expected=f"0 to {len(state) - 1}")
    return float(state[int(index)])


def _numbers(values: Mapping[str, list[Any]], key: str) -> NDArray[np.float64]:
    """Return ``(N,)`` finite numbers of the observation."""
    value = np.asarray(one_value(values, key))
    got = ""
    if value.dtype.kind not in "iuf" or value.ndim > 1:
        got = f"{value.ndim} dimensions of {value.dtype}" if value.ndim > 1 else str(value.dtype)
    elif not np.isfinite(value).all():
        got = ", ".join(f"{number:g}" for number in np.unique(value[~np.isfinite(value)]))
    if got:
        raise InputError(f"{key} is not a state", expected="finite numbers in one dimension", got=got)
    return np.atleast_1d(value).astype(np.float64)

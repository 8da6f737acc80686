"""Answers of planners: a text becomes a plan or an error with a name, never an action at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.planning.loose_json import Unreadable, literal, values_in

_NUMBERS: Final = 7
_GRIPPER_OPEN_ABOVE: Final = 0.5
_MOST_CHARACTERS: Final = 200_000
_LARGEST: Final = 10**6
_PLAN_KEY: Final = "executable_plan"
_TEXT_KEYS: Final = ("visual_state_description", "reasoning_and_reflection", "language_plan")


class FormatError(StrEnum):
    """Why an answer is not a plan."""

    EMPTY = "empty answer"
    TOO_LONG = "answer too long"
    NO_JSON = "no JSON"
    CUT_JSON = "JSON is cut off"
    NO_PLAN = "no executable_plan"
    NOT_A_LIST = "plan is not a list"
    NO_ACTION = "step without an action"
    WRONG_COUNT = "action does not have seven numbers"
    NOT_A_NUMBER = "action holds something other than numbers"
    NOT_FINITE = "action holds a number that is not finite"
    NOT_WHOLE = "action holds a number that is not whole"


class AnswerError(InputError):
    """An answer that is not a plan.

    Args:
        kind: The kind of error.
        detail: What was found.
    """

    def __init__(self, kind: FormatError, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan.

    Attributes:
        actions: In order; numbers out of range are kept, the environment refuses them.
        seen: Description of the image; empty if the answer has none.
        reasoning: Reasoning and reflection.
        words: The plan in words.
    """

    actions: tuple[GridAction, ...]
    seen: str = ""
    reasoning: str = ""
    words: str = ""


def parse_answer(text: str) -> Plan:
    """Read an answer.

    Accepted: JSON or a Python literal, bare, in a code fence or within prose; the object itself, nested under
    ``properties``, or the plan alone; actions as mappings with ``action``, lists, tuples or text.

    Raises:
        AnswerError: It is not a plan.
    """
    if not text.strip():
        raise AnswerError(FormatError.EMPTY)
    if len(text) > _MOST_CHARACTERS:
        raise AnswerError(FormatError.TOO_LONG, f"{len(text)} characters")
    first_error: AnswerError | None = None
    try:
        for value in values_in(text):
            try:
                return _plan_of(value)
            except AnswerError as error:
                first_error = first_error or error
    except Unreadable as error:
        kind = FormatError.CUT_JSON if error.is_cut else FormatError.NO_JSON
        raise first_error or AnswerError(kind) from None
    raise first_error or AnswerError(FormatError.NO_JSON)


def _plan_of(value: object) -> Plan:
    if isinstance(value, dict):
        found = _by_word(value)
        inner = found.get("properties")
        if _PLAN_KEY not in found and isinstance(inner, dict):
            found = _by_word(inner)
        if _PLAN_KEY not in found:
            raise AnswerError(FormatError.NO_PLAN, f"keys {', '.join(map(str, value))[:100]}")
        texts = (found.get(key) for key in _TEXT_KEYS)
        return Plan(_actions_of(found[_PLAN_KEY]), *("" if text is None else str(text) for text in texts))
    if isinstance(value, (list, tuple)) and _looks_like_a_plan(value):
        return Plan(_actions_of(value))
    raise AnswerError(FormatError.NO_PLAN, f"a {type(value).__name__}")


def _by_word(tree: dict[object, object]) -> dict[str, object]:
    """Return a mapping by its keys in lower case with underscores."""
    return {str(key).strip().lower().replace(" ", "_").replace("-", "_"): item for key, item in tree.items()}


def _looks_like_a_plan(value: Sequence[object]) -> bool:
    """Return whether a bare list may be a plan: text may contain other brackets, such as ``[1]``."""
    if _is_flat(value):
        return len(value) == _NUMBERS
    return bool(value) and all(isinstance(item, (dict, list, tuple, str)) for item in value)


def _actions_of(plan: object) -> tuple[GridAction, ...]:
    if isinstance(plan, str):
        plan = _literal(plan, FormatError.NOT_A_LIST) if plan.strip() else []
    if isinstance(plan, dict):
        plan = _by_word(plan).get(_PLAN_KEY, [plan])
    if not isinstance(plan, (list, tuple)):
        raise AnswerError(FormatError.NOT_A_LIST, repr(plan)[:60])
    if plan and _is_flat(plan):
        plan = [plan]
    return tuple(_action(item) for item in plan)


def _is_flat(plan: Sequence[object]) -> bool:
    return any(isinstance(item, (int, float)) for item in plan)


def _action(item: object) -> GridAction:
    if isinstance(item, dict):
        found = _by_word(item)
        if "action" not in found:
            raise AnswerError(FormatError.NO_ACTION, f"keys {', '.join(map(str, item))[:100]}")
        item = found["action"]
    if isinstance(item, str):
        item = _literal(item, FormatError.NOT_A_NUMBER)
    if isinstance(item, (list, tuple)) and len(item) == 1 and isinstance(item[0], (list, tuple, str)):
        return _action(item[0])
    if not isinstance(item, (list, tuple)):
        raise AnswerError(FormatError.NO_ACTION, repr(item)[:60])
    if len(item) != _NUMBERS:
        raise AnswerError(FormatError.WRONG_COUNT, f"{len(item)} values")
    *pose, gripper = (_number(value) for value in item)
    x, y, z, roll, pitch, yaw = (_whole(value) for value in pose)
    return GridAction(x, y, z, roll, pitch, yaw, int(gripper > _GRIPPER_OPEN_ABOVE))


def _number(value: object) -> float:
    if isinstance(value, str):
        value = _literal(value, FormatError.NOT_A_NUMBER)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise AnswerError(FormatError.NOT_A_NUMBER, repr(value)[:60])
    if isinstance(value, float) and not math.isfinite(value):
        raise AnswerError(FormatError.NOT_FINITE, str(value))
    return min(max(value, -_LARGEST), _LARGEST)


def _whole(value: float) -> int:
    if value != int(value):
        raise AnswerError(FormatError.NOT_WHOLE, str(value))
    return int(value)


def _literal(text: str, otherwise: FormatError) -> object:
    try:
        return literal(text)
    except Unreadable:
        raise AnswerError(otherwise, repr(text)[:60]) from None

"""A planner with seeded faults of form and content, to exercise parser, loop and error rules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from embodied_iqa.models.subjects.subject_options import VlmRequest
from embodied_iqa.suites.cell_manipulation.actions import CLOSED, POSITION_BINS, GridAction
from embodied_iqa.suites.cell_manipulation.planning.offline import OfflinePlanner, nearest
from embodied_iqa.suites.cell_manipulation.planning.prompt import plan_text
from embodied_iqa.world.protocols import Message

Actions = list[GridAction]
_MARK: Final = "seeded fault: "
_OFFSET_BINS: Final = 4
_AWAY_BINS: Final = 12
_AFTER_CUT: Final = 0.6


class Fault(StrEnum):
    """Faults; each episode has one, from the seed and the episode's name."""

    NONE = "none"
    FENCE = "fence"
    """A code fence around the answer: harmless."""
    PROSE = "prose"
    """Words around the answer: harmless."""
    CUT = "cut"
    """The answer ends in the middle."""
    EMPTY = "empty"
    """An empty plan."""
    RANGE = "range"
    """Positions out of range."""
    REPEAT = "repeat"
    """One action over and over."""
    OTHER_OBJECT = "other object"
    """The plan handles another object."""
    NO_OBJECT = "no object"
    """The plan grips where nothing is."""
    OFFSET = "offset"
    """Every position is 4 cm off."""
    NO_GRIP = "no grip"
    """The gripper never closes."""
    OTHER_PLACE = "other place"
    """The object is taken to a free place of the table."""


class FaultyPlanner(OfflinePlanner):
    """The expert with one fault an episode.

    Args:
        name: Name of the catalogue.
        seed: Of the faults.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        super().__init__(name, f"the expert with faults of seed {seed}")
        self.info = replace(self.info, version=f"1-{seed}")
        self._seed = seed

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        """Return the plan, with the episode's fault."""
        del schema
        fault = self._fault()
        actions = self.planned(messages)
        if fault in _OF_CONTENT:
            actions = _OF_CONTENT[fault](self, actions)
        text = plan_text(actions, seen="", why=f"{_MARK}{fault}")
        return _OF_FORM[fault](text) if fault in _OF_FORM else text

    def _fault(self) -> Fault:
        key = f"{self._seed} {self.inside.episode.name}".encode()
        faults = tuple(Fault)
        return faults[hashlib.blake2b(key, digest_size=4).digest()[0] % len(faults)]

    def other_object(self, actions: Actions) -> Actions:
        """Move the grip to another object, and the rest by as much."""
        objects = [item for item in self.inside.observation.objects if item.index is not None]
        places = [item.bins for item in objects]
        grip = next((action for action in actions if action.gripper == CLOSED), None)
        if grip is None or len(places) < 2:
            return actions
        target = nearest(grip.numbers, places)
        goals = {name for goal in self.inside.episode.goals for name in (goal.target, goal.destination)}
        others = [item.bins for item in objects if item.name not in goals]
        others = others or [place for place in places if place != places[target]]
        other, old = others[0], places[target]
        return [_shift(action, other[0] - old[0], other[1] - old[1]) for action in actions]

    def no_object(self, actions: Actions) -> Actions:
        """Move the whole plan to a free place of the table."""
        free = self._free_place()
        grip = next((action for action in actions if action.gripper == CLOSED), None)
        if grip is None or free is None:
            return actions
        return [_shift(action, free[0] - grip.x, free[1] - grip.y) for action in actions]

    def other_place(self, actions: Actions) -> Actions:
        """Move what follows the grip to a free place of the table."""
        free = self._free_place()
        grip = next((action for action in actions if action.gripper == CLOSED), None)
        if grip is None or free is None:
            return actions
        after = actions.index(grip) + 1
        carried = [action for action in actions[after:] if (action.x, action.y) != (grip.x, grip.y)]
        if not carried:
            return actions
        middle = [sum(values) // len(carried) for values in zip(*((a.x, a.y) for a in carried), strict=True)]
        moved = (_shift(action, free[0] - middle[0], free[1] - middle[1]) for action in carried)
        return [*actions[:after], replace(grip, z=max(action.z for action in actions)), *moved]

    def _free_place(self) -> tuple[int, int] | None:
        """Return a place of the table that is far from everything; None if there is none."""
        truth = [item.bins for item in self.inside.observation.objects]
        places = [(x, y, 0) for x in range(30, 75, 5) for y in range(15, 90, 5)]
        free = (place for place in places if _distance(place, truth[nearest(place, truth)]) >= _AWAY_BINS)
        return next(((x, y) for x, y, _ in free), None)


def fault_of(answer: str) -> Fault | None:
    """Return the fault that an answer of `FaultyPlanner` was given; None for answers of others."""
    _, mark, rest = answer.partition(_MARK)
    return next((fault for fault in Fault if mark and rest.startswith(fault + '"')), None)


def make_faulty(request: VlmRequest) -> FaultyPlanner:
    """Make the planner with faults; the seed is that of the decoding options."""
    return FaultyPlanner(request.reference.text, request.options.decoding.seed)


def _shift(action: GridAction, x: int, y: int) -> GridAction:
    limit = POSITION_BINS - 1
    return replace(action, x=min(max(action.x + x, 0), limit), y=min(max(action.y + y, 0), limit))


def _distance(first: Sequence[int], second: Sequence[int]) -> int:
    return max(abs(first[0] - second[0]), abs(first[1] - second[1]))


_OF_CONTENT: Final[dict[Fault, Callable[[FaultyPlanner, Actions], Actions]]] = {
    Fault.EMPTY: lambda _self, _actions: [],
    Fault.RANGE: lambda _self, actions: [replace(action, x=action.x + 100) for action in actions],
    Fault.REPEAT: lambda _self, actions: actions[:1] * 20,
    Fault.OTHER_OBJECT: FaultyPlanner.other_object,
    Fault.NO_OBJECT: FaultyPlanner.no_object,
    Fault.OFFSET: lambda _self, actions: [_shift(action, _OFFSET_BINS, 0) for action in actions],
    Fault.NO_GRIP: lambda _self, actions: [replace(action, gripper=1) for action in actions],
    Fault.OTHER_PLACE: FaultyPlanner.other_place,
}
_OF_FORM: Final[dict[Fault, Callable[[str], str]]] = {
    Fault.FENCE: lambda text: f"```json\n{text}\n```",
    Fault.PROSE: lambda text: f"Sure! Here is [my] plan:\n{text}\nI hope that it helps.",
    Fault.CUT: lambda text: text[: round(_AFTER_CUT * len(text))],
}

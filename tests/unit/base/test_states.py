"""`replace` of states is that of dataclasses, faster."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from embodied_iqa.arm.robot.state import ControllerState, Run
from embodied_iqa.base.states import replace
from embodied_iqa.runs.trial.decision_timing import DeciderState
from embodied_iqa.runs.trial.state import TrialState

STATES = (ControllerState, DeciderState, Run, TrialState)


def state_of(kind: Any) -> Any:
    """A state with another value in each field."""
    return kind(**{field.name: object() for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", STATES)
def test_it_gives_the_same_state_and_leaves_the_old_one(kind: Any) -> None:
    names = [field.name for field in dataclasses.fields(kind)]
    for changed in (names[:1], names[-2:], names, []):
        old, values = state_of(kind), {name: object() for name in changed}
        before = {name: getattr(old, name) for name in names}
        new, expected = replace(old, **values), dataclasses.replace(old, **values)
        assert type(new) is kind
        assert new is not old
        assert all(getattr(new, name) is getattr(expected, name) for name in names)
        assert all(getattr(old, name) is before[name] for name in names)
        assert vars(new) == vars(expected)


@pytest.mark.parametrize("kind", STATES)
def test_fields_that_do_not_exist_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__} has no field amde"):
        replace(state_of(kind), amde=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    first: int = 1
    second: int = 2


@dataclasses.dataclass(frozen=True)
class Checked:
    first: int = 1

    def __post_init__(self) -> None:
        if self.first > 2:
            raise ValueError("too much")


@dataclasses.dataclass(frozen=True)
class Counted:
    first: int = 1
    twice: list[int] = dataclasses.field(init=False, default_factory=list)


def test_what_the_making_of_others_does_is_done() -> None:
    assert replace(Slotted(), second=3) == Slotted(1, 3)
    with pytest.raises(ValueError, match="too much"):
        replace(Checked(), first=3)
    counted = Counted()
    assert replace(counted, first=2).twice is not counted.twice


def test_a_new_state_stays_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(TrialState(plan=object()), stage=1).run_index = 2  # type: ignore[arg-type, misc]

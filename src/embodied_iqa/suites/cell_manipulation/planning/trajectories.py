"""Public trajectory files of EB-Manipulation: counts, format errors, agreement of plans.

``eb-man_dataset_multi_step.json`` and ``eb-man_dataset_single_step.json`` of the data set
``EmbodiedBench/EB-Man_trajectory_dataset``: a JSON list of episodes. Files are read tolerantly: what lacks a
part is skipped and counted. The episodes' own files are pickles for another simulator; they are not read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES, load_json
from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.planning.planner_answers import AnswerError, parse_answer

_PLAN_KEY: Final = "executable_plan"
_WITHIN_BINS: Final = 2
"""Two first actions agree within 2 cm an axis, with the same gripper."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a trajectory.

    Attributes:
        actions: Planned actions; empty where the plan cannot be read.
        error: Why it cannot be read; empty if it can.
        executed: Whether each action was valid, where the file says so.
    """

    actions: tuple[GridAction, ...]
    error: str
    executed: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode of the file.

    Attributes:
        model: Name of the model.
        subset: Its subset, such as ``base``.
        episode: Its number, as text.
        instruction: The task.
        success: Whether it was solved.
        turns: In order.
    """

    model: str
    subset: str
    episode: str
    instruction: str
    success: bool
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class TrajectoryFile:
    """What a file holds.

    Attributes:
        trajectories: Readable episodes.
        skipped: Number of episodes and turns that were left out, by reason.
    """

    trajectories: tuple[Trajectory, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrajectoryCount:
    """Counts of a model and a subset.

    Attributes:
        model: Name of the model.
        subset: The subset.
        episodes: Episodes.
        successes: Solved ones.
        turns: Questions to the planner.
        format_errors: Plans that cannot be read.
        actions: Planned actions.
        out_of_grid: Actions with a number out of its range.
        invalid: Actions that the simulator refused, where the file says so.
    """

    model: str
    subset: str
    episodes: int
    successes: int
    turns: int
    format_errors: int
    actions: int
    out_of_grid: int
    invalid: int


@dataclass(frozen=True, slots=True)
class PlanAgreement:
    """How far the first plans of two models agree on their common episodes.

    Attributes:
        first: A model.
        second: Another one.
        episodes: Common episodes with a readable first plan of both.
        same_action: Episodes whose first actions agree within 2 cm an axis and in the gripper.
        same_plan: Episodes whose first plans agree in length and in every action.
    """

    first: str
    second: str
    episodes: int
    same_action: int
    same_plan: int


def read_trajectories(path: Path) -> TrajectoryFile:
    """Read a trajectory file of either format.

    Raises:
        InputError: The file cannot be read, is not a JSON list, or has no readable episode.
    """
    tree = load_json(path, "the trajectories", most_bytes=MOST_DATASET_BYTES)
    if isinstance(tree, dict):  # wrapped by some mirrors
        tree = next((value for value in tree.values() if isinstance(value, list)), None)
    if not isinstance(tree, list):
        raise InputError(f"{path} is not a trajectory file", expected="a JSON list of episodes")
    skipped: Counter[str] = Counter()
    found = [item for item in (_trajectory(entry, skipped) for entry in tree) if item is not None]
    if not found:
        reasons = ", ".join(f"{count} times {reason}" for reason, count in skipped.items())
        got = reasons or "an empty list"
        raise InputError(f"{path} holds no readable episode", expected="a JSON list of episodes", got=got)
    return TrajectoryFile(tuple(found), dict(skipped))


def count_trajectories(trajectories: Sequence[Trajectory]) -> list[TrajectoryCount]:
    """Return the counts of each model and subset, in the order of their names."""
    groups: defaultdict[tuple[str, str], list[Trajectory]] = defaultdict(list)
    for one in trajectories:
        groups[one.model, one.subset].append(one)
    return [_count(*key, groups[key]) for key in sorted(groups)]


def plan_agreements(trajectories: Sequence[Trajectory]) -> Iterator[PlanAgreement]:
    """Yield the agreement of each pair of models that have episodes in common."""
    plans: defaultdict[str, dict[tuple[str, str], tuple[GridAction, ...]]] = defaultdict(dict)
    for one in trajectories:
        first = next((turn.actions for turn in one.turns if turn.actions), ())
        if first:
            plans[one.model].setdefault((one.subset, one.episode), first)
    for first_model, second_model in combinations(sorted(plans), 2):
        common = plans[first_model].keys() & plans[second_model].keys()
        if not common:
            continue
        pairs = [(plans[first_model][key], plans[second_model][key]) for key in common]
        same = sum(_agree(one[0], other[0]) for one, other in pairs)
        whole = sum(len(one) == len(other) and all(map(_agree, one, other)) for one, other in pairs)
        yield PlanAgreement(first_model, second_model, len(pairs), same, whole)


def _trajectory(entry: Any, skipped: Counter[str]) -> Trajectory | None:
    if not isinstance(entry, dict):
        skipped["episode is not a mapping"] += 1
        return None
    for key in ("model_name", "eval_set", "episode_id", "trajectory"):
        if key not in entry:
            skipped[f"episode without {key}"] += 1
            return None
    turns = entry["trajectory"]
    turns = turns if isinstance(turns, list) else [turns]
    read = tuple(turn for turn in (_turn(item, skipped) for item in turns) if turn is not None)
    success = entry.get("success")
    if not isinstance(success, (bool, int, float)):
        skipped["episode without success"] += 1
        return None
    names = (str(entry[key]) for key in ("model_name", "eval_set", "episode_id"))
    model, subset, episode = names
    return Trajectory(model, subset, episode, str(entry.get("instruction", "")), success > 0, read)


def _turn(item: Any, skipped: Counter[str]) -> Turn | None:
    if not isinstance(item, dict):
        skipped["turn is not a mapping"] += 1
        return None
    if _PLAN_KEY not in item:
        skipped[f"turn without {_PLAN_KEY}"] += 1
        return None
    plan = item[_PLAN_KEY]
    steps = plan if isinstance(plan, list) else [plan]
    flags = (step.get("action_success") for step in steps if isinstance(step, dict))
    executed = tuple(flag > 0 for flag in flags if isinstance(flag, (bool, int, float)))
    try:
        return Turn(parse_answer(repr({_PLAN_KEY: plan})).actions, "", executed)
    except AnswerError as error:
        return Turn((), str(error.kind), executed)


def _count(model: str, subset: str, trajectories: Sequence[Trajectory]) -> TrajectoryCount:
    turns = [turn for one in trajectories for turn in one.turns]
    actions = [action for turn in turns for action in turn.actions]
    return TrajectoryCount(
        model,
        subset,
        len(trajectories),
        sum(one.success for one in trajectories),
        len(turns),
        sum(bool(turn.error) for turn in turns),
        len(actions),
        sum(bool(action.range_fault) for action in actions),
        sum(not valid for turn in turns for valid in turn.executed),
    )


def _agree(first: GridAction, second: GridAction) -> bool:
    near = all(abs(a - b) <= _WITHIN_BINS for a, b in zip(first.numbers[:3], second.numbers[:3], strict=True))
    return near and first.gripper == second.gripper

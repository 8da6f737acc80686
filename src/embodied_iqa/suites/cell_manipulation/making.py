"""Makes the episodes of the benchmark and their sentences from a seed, and reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError, InternalError, UsageError, UserError
from embodied_iqa.base.files import write_whole
from embodied_iqa.base.jobs.plan import digest_of, require_same_plan
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES, parse_json
from embodied_iqa.base.user_files.texts import read_text
from embodied_iqa.suites.cell_manipulation.cell_scene import HORIZONTAL, VERTICAL, CellScene, build_cell_scene
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.suites.cell_manipulation.references import References
from embodied_iqa.suites.cell_manipulation.second_parser import parse_goals
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Size

_SENTENCES: Final[dict[CellTask, tuple[str, ...]]] = {
    CellTask.PLACE: ("pick up {t} and place it into {d}", "take {t} and put it into {d}"),
    CellTask.STACK: ("stack {d} and {t} in sequence", "stack {t} on top of {d}"),
    CellTask.INSERT: ("put {t} into the opening of {d}", "insert {t} into {d}"),
    CellTask.WIPE: ("wipe {d} with {t}", "use {t} as a sponge to wipe {d}"),
}
"""``{t}`` is the object that is handled, ``{d}`` where it goes. In a sequence the first object is below."""

_BEFORE: Final = (
    "We are getting the bench ready for the visitors of this afternoon",
    "The radio says that it is going to rain until the evening",
    "I have been at work since seven and the coffee machine is broken again",
    "My colleague keeps talking about the football match of last night",
    "This shelf was delivered on Monday together with a long bill",
)
_BESIDE: Final = (
    "{o} belongs to somebody else and stays where it is",
    "Yesterday somebody asked about {o}, but that does not matter now",
    "{o} is only there as a decoration",
)
_SIDES_NOTE: Final = "Directions are as the robot sees them"


def sentence(rng: np.random.Generator, goals: Sequence[Goal], phrases: Sequence[tuple[str, str]]) -> str:
    """Return the sentences that ask for some goals.

    Args:
        rng: Source of the choices.
        goals: One, or two in their order.
        phrases: For each goal, the words for its target and its destination.
    """
    parts = []
    for goal, (target, destination) in zip(goals, phrases, strict=True):
        options = _SENTENCES[goal.task]
        parts.append(options[int(rng.integers(len(options)))].format(t=target, d=destination))
    return f"{_upper(parts[0])}." if len(parts) == 1 else f"First {parts[0]}. Then {parts[1]}."


def dressed(rng: np.random.Generator, subset: Subset, text: str, unnamed: Sequence[str]) -> str:
    """Return a task with the irrelevant sentences of its subset, and the note on directions.

    Args:
        rng: Source of the choices.
        subset: The subset.
        text: The task.
        unnamed: Names of the objects that the task does not name; at least one for complex tasks.
    """
    if subset is Subset.SPATIAL:
        return f"{text} {_SIDES_NOTE}."
    if subset is not Subset.COMPLEX:
        return text
    before = _BEFORE[int(rng.integers(len(_BEFORE)))]
    other = unnamed[int(rng.integers(len(unnamed)))]
    beside = _upper(_BESIDE[int(rng.integers(len(_BESIDE)))].format(o=f"the {other}"))
    return f"{before}. {text} {beside}." if rng.random() < 0.5 else f"{before}. {beside}. {text}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


PER_TASK: Final = 12
"""Episodes of a task in a subset."""
EPISODES_FILE: Final = "episodes.jsonl"
_ALL: Final = tuple(CellTask)
TASKS_OF: Final[dict[Subset, tuple[CellTask, ...]]] = dict.fromkeys(Subset, _ALL) | {
    Subset.VISUAL: (CellTask.PLACE, CellTask.STACK, CellTask.INSERT)
}
"""Tasks of each subset: 48, 48, 48, 48 and 36 episodes as in the protocol, and 48 of long horizon."""
PROTOCOL: Final = tuple(subset for subset in Subset if subset is not Subset.LONG_HORIZON)
"""The subsets of the protocol, 228 episodes."""
_TOYS: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL)
_ATTEMPTS: Final = 2000


def make_episodes(subsets: Sequence[Subset], seed: int) -> Iterator[Episode]:
    """Yield the episodes of some subsets; an episode depends on its subset, its number and the seed only.

    Args:
        subsets: Which ones.
        seed: Any integer from 0.

    Raises:
        UsageError: The seed is negative.
        InternalError: An instruction does not have exactly the meaning it was made for.
    """
    if seed < 0:
        raise UsageError("a seed cannot be negative", expected="an integer from 0", got=seed)
    for subset in subsets:
        places = [(task, number) for task in TASKS_OF[subset] for number in range(PER_TASK)]
        for index, (task, number) in enumerate(places):
            yield _draw(subset, task, index, number, seed)


def write_episodes(folder: Path, episodes: Sequence[Episode]) -> Path:
    """Write episodes as JSON lines; the same episodes give the same bytes.

    Raises:
        UsageError: The folder holds other episodes; the message names what differs.
        InputError: The file cannot be written, or holds something else, such as episodes of another version.
    """
    lines = [json.dumps(unstructure(episode), ensure_ascii=False) for episode in episodes]
    path = folder / EPISODES_FILE
    if path.exists():
        require_same_plan(folder, _stored_plan(path), _plan_of(episodes))
    write_whole(path, lambda fresh: fresh.write_text("\n".join([*lines, ""]), encoding="utf-8"))
    return path


def read_episodes(source: Path) -> tuple[Episode, ...]:
    """Read episodes from a folder of `write_episodes`, or from its file.

    Raises:
        InputError: The file cannot be read, holds no episode, or does not match; the message names the line.
    """
    path = source / EPISODES_FILE if source.is_dir() else source
    if not path.is_file():
        raise InputError(f"no episodes: {path} is not a file", expected="a folder of `manipulate make`")
    lines = read_text(path, "the episodes", most_bytes=MOST_DATASET_BYTES).splitlines()
    episodes = [
        structure(Episode, parse_json(line, str(path), number), f"{path}, line {number}")
        for number, line in enumerate(lines, start=1)
    ]
    if not episodes:
        raise InputError(f"no episodes in {path}")
    return tuple(episodes)


def _plan_of(episodes: Sequence[Episode]) -> dict[str, object]:
    """Return what some episodes were made from, with a hash of themselves."""
    return {
        "seed": " ".join(str(seed) for seed in sorted({episode.seed for episode in episodes})),
        "subset": ",".join(dict.fromkeys(episode.subset for episode in episodes)),
        "episodes": digest_of([unstructure(episode) for episode in episodes]),
    }


def _stored_plan(path: Path) -> dict[str, object]:
    try:
        return _plan_of(read_episodes(path))
    except UserError as error:
        raise InputError(f"{path} is there and not replaced: {error}", expected="another folder") from error


def _draw(subset: Subset, task: CellTask, index: int, number: int, seed: int) -> Episode:
    """Draw scenes until one allows the task in the words of the subset."""
    keys = [seed, list(Subset).index(subset), list(CellTask).index(task), number, 0xCE11]
    rng = np.random.default_rng(np.random.SeedSequence(keys))
    for _ in range(_ATTEMPTS):
        drawn = _scene_and_goals(rng, subset, task)
        text = None if drawn is None else _instruction(rng, subset, *drawn[1:])
        if drawn is not None and text is not None:
            episode = Episode(subset, task, index, seed, drawn[0], text, drawn[2])
            _check(episode, drawn[1])
            return episode
    raise InternalError(f"no scene for {subset}, {task} in {_ATTEMPTS} attempts")


def _scene_and_goals(
    rng: np.random.Generator, subset: Subset, task: CellTask
) -> tuple[int, CellScene, tuple[Goal, ...]] | None:
    first, second = (list(Colour)[number] for number in rng.permutation(len(Colour))[:2])
    toy = _TOYS[int(rng.integers(len(_TOYS)))]
    area = (HORIZONTAL, VERTICAL)[int(rng.integers(2))]
    goal = {
        CellTask.PLACE: Goal(task, f"{first} {toy}", f"{second} {Kind.BOWL}"),
        CellTask.INSERT: Goal(task, f"{first} {Kind.PEG}", f"{second} {Kind.SOCKET}"),
        CellTask.STACK: Goal(task, f"{first} {Kind.CUBE}", f"{second} {Kind.CUBE}"),
        CellTask.WIPE: Goal(task, f"{first} {Kind.CUBE}", area),
    }[task]
    scene_seed = int(rng.integers(2**31))
    try:
        cell = build_cell_scene((goal,), scene_seed)
    except UsageError:
        return None
    if task is CellTask.WIPE and cell.scene.objects[0].size is Size.SMALL:
        return None
    if subset is not Subset.LONG_HORIZON:
        return scene_seed, cell, (goal,)
    further = _further_goals(cell, goal)
    return (scene_seed, cell, (goal, further[int(rng.integers(len(further)))])) if further else None


def _further_goals(cell: CellScene, first: Goal) -> list[Goal]:
    """Return what may follow a goal: a third cube on a stack, else another object into another bowl."""
    names = [f"{item.colour} {item.kind}" for item in cell.scene.objects]
    free = [name for name in names if name not in {first.target, first.destination}]
    if first.task is CellTask.STACK:
        return [Goal(CellTask.STACK, name, first.target) for name in free if name.endswith(Kind.CUBE)]
    toys = [name for name in free if name.split()[-1] in _TOYS]
    bowls = [name for name in free if name.endswith(Kind.BOWL)]
    return [Goal(CellTask.PLACE, toy, bowl) for toy in toys for bowl in bowls]


def _instruction(
    rng: np.random.Generator, subset: Subset, cell: CellScene, goals: tuple[Goal, ...]
) -> str | None:
    """Return the words for the goals, None if the scene does not allow those of the subset."""
    references = References(rng, cell, subset)
    used = [name for goal in goals for name in (goal.target, goal.destination)]
    phrases = []
    for goal in goals:
        target, destination = references.phrase(goal.target, used), references.phrase(goal.destination, used)
        if subset is Subset.SPATIAL:
            is_area = goal.task is CellTask.WIPE
            target = f"the {goal.target}" if is_area else target
            destination = destination if is_area else f"the {goal.destination}"
        if target is None or destination is None:
            return None
        phrases.append((target, destination))
    others = [name for name in (f"{i.colour} {i.kind}" for i in cell.scene.objects) if name not in used]
    return dressed(rng, subset, sentence(rng, goals, phrases), others) if others else None


def _check(episode: Episode, cell: CellScene) -> None:
    """Parse the instruction with the parser that is independent of its making."""
    try:
        understood = parse_goals(episode.instruction, cell)
    except UsageError as error:
        raise InternalError(f"{episode.name} is unclear: {episode.instruction!r} ({error})") from error
    if understood != episode.goals:
        raise InternalError(f"{episode.name} is misleading: {episode.instruction!r} for {episode.goals}")

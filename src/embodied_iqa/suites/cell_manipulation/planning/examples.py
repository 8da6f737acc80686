"""Solved tasks for the prompt: episodes that are in no benchmark, with the expert's plans."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Final

from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes
from embodied_iqa.suites.cell_manipulation.planning.planner_options import Coordinates, PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.prompt import Example
from embodied_iqa.suites.cell_manipulation.planning.seeing import annotated, see

_SEED: Final = 2_000_003
"""Of the examples' episodes: no benchmark has it."""
_VISUAL: Final = 2


def examples_for(task: CellTask, options: PromptOptions, size_px: int) -> tuple[Example, ...]:
    """Return the examples of a task: text, or two with images by the option ``visual_examples``."""
    if options.visual_examples:
        return _solved(task, _VISUAL, size_px, options.boxes)
    return _solved(task, options.shots, 0, boxes=False)


@cache
def _solved(task: CellTask, count: int, size_px: int, boxes: bool) -> tuple[Example, ...]:  # noqa: FBT001 - a key of the cache
    if not count:
        return ()
    views = (View.TOP,) if size_px else ()
    with Environment(EnvironmentOptions(views, size_px or 1)) as environment:
        own = (episode for episode in make_episodes((Subset.BASE,), _SEED) if episode.task is task)
        return tuple(_example(environment, episode, boxes) for episode in islice(own, count))


def _example(environment: Environment, episode: Episode, boxes: bool) -> Example:  # noqa: FBT001 - as above
    observation = environment.reset(episode)
    prompt = PromptOptions(boxes=boxes, coordinates=Coordinates.TRUTH)
    sighting = see(observation, prompt, FrameDistorter(None))
    objects = tuple(item.bins for item in observation.objects)
    plan = tuple(environment.expert_plan())
    return Example(episode.instruction, objects, plan, annotated(sighting, prompt))

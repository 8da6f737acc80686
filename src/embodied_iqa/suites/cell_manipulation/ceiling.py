"""The grid's ceiling: what the expert achieves with waypoints in bins of 10 mm and 3 degrees."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Subset


@dataclass(frozen=True, slots=True)
class ExpertRun:
    """Result of the expert in one episode.

    Attributes:
        episode: Name of the episode.
        subset: Its subset.
        task: Its task.
        success: Whether all conditions held for a second.
        steps: Executed actions.
        invalid: Actions that were not valid.
        missing: What the goals lacked at the end; empty after success.
        actions: The executed actions.
        simulated_s: Simulated time.
        processor_ms_per_step: Time of the processor for a step, without drawing.
    """

    episode: str
    subset: Subset
    task: CellTask
    success: bool
    steps: int
    invalid: int
    missing: str
    actions: tuple[GridAction, ...]
    simulated_s: float
    processor_ms_per_step: float


def run_expert(environment: Environment, episode: Episode) -> ExpertRun:
    """Execute the expert's plan once, without a second attempt."""
    environment.reset(episode)
    begun_s, results, actions = time.process_time(), [], environment.expert_plan()
    for action in actions:
        results.append(environment.step(action))
        if results[-1].done:
            break
    spent_s = time.process_time() - begun_s
    success = results[-1].success
    return ExpertRun(
        episode.name,
        episode.subset,
        episode.task,
        success,
        len(results),
        sum(not result.action_valid for result in results),
        "" if success else "; ".join(filter(None, environment.missing())),
        tuple(actions[: len(results)]),
        environment.snapshot.time_ns / SECOND_NS,
        1000.0 * spent_s / len(results),
    )


def measure_ceiling(episodes: Sequence[Episode], workers: int = 1) -> Iterator[ExpertRun]:
    """Run the expert in all episodes and yield each run when it is done, in any order.

    Args:
        episodes: The episodes.
        workers: Number of processes; 1 for this process.
    """
    jobs = [partial(_run, episode) for episode in episodes]
    return run_jobs(jobs, EngineOptions(workers=workers))


def _run(episode: Episode) -> ExpertRun:
    with Environment(EnvironmentOptions(views=())) as environment:
        return run_expert(environment, episode)

"""Runs of a receding horizon in the virtual cell: the policy decides while the arm moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from event_queue import MS_NS
from test_cell_trial import OBSERVERS, VICTIMS, play, some_actor
from virtual_cell import CellOptions, VirtualCell, interleavings, with_plan

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.base.kinematics import TOOL_2F140_M, Kinematics, tool_along_z

every_seed = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(12), id="first"),
        pytest.param(range(12, 48), id="others", marks=pytest.mark.stress),
    ],
)
TICK_S, SPEED_MPS = 0.02, 0.05
KINEMATICS = Kinematics(tool_along_z(TOOL_2F140_M))


def steps(count: int, length_m: float) -> np.ndarray:
    increments = np.zeros((count, 7))
    increments[:, 1] = length_m
    return increments


def receding(
    count: int, execute: int, rate_hz: float, moves: int = 4, *, ensembling: bool = False
) -> CellOptions:
    horizon = HorizonOptions(Horizon.RECEDING, execute, rate_hz, ensembling)
    options = CellOptions(increments=steps(count, -SPEED_MPS / rate_hz), moves=moves, horizon=horizon)
    return with_plan(options, distortions=())


CHUNKS, SINGLE = receding(10, 5, 15.0), receding(1, 1, 5.0, moves=6)
AVERAGED = receding(10, 3, 15.0, ensembling=True)


def speeds_mps(cell: VirtualCell) -> np.ndarray:
    """Commanded speeds of the tool from when it first has the speed of the policy until it last has it."""
    tool_m = KINEMATICS.forward(np.array([q for _, q in cell.journal.targets]))[:, :3, 3]
    speeds = np.linalg.norm(np.diff(tool_m, axis=0), axis=1) / TICK_S
    steady = np.flatnonzero(speeds >= 0.95 * SPEED_MPS)
    return speeds[steady[0] : steady[-1]]


@every_seed
def test_the_arm_goes_on_from_chunk_to_chunk_in_every_interleaving(seeds: range) -> None:
    def goes_on(seed: int, options: CellOptions) -> None:
        cell = play(seed, lambda _cell: None, options)
        journal = cell.journal
        assert cell.trial.finish is not None
        assert cell.trial.finish.ok, cell.trial.finish.message
        assert len(journal.accepted) >= options.moves
        assert not journal.refused, journal.refused
        moving = [mode for _, mode, _ in journal.modes]
        assert moving.count("idle") <= 2, "it stands before and after, not between"
        assert speeds_mps(cell).min() >= 0.8 * SPEED_MPS

    interleavings(partial(goes_on, options=CHUNKS), seeds)
    interleavings(partial(goes_on, options=SINGLE), seeds)
    interleavings(partial(goes_on, options=AVERAGED), seeds)


def test_a_raw_question_that_would_take_too_long_is_skipped_and_does_not_delay_the_arm() -> None:
    cell = VirtualCell(3, replace(SINGLE, lockstep=False))
    cell.policy.thinks_ns = (130 * MS_NS,)
    cell.begin()
    cell.run()
    assert cell.policy.desk.skipped > 2
    stamps_ns = [stamp_ns for _, stamp_ns, _ in cell.journal.decisions]
    assert max(np.diff(stamps_ns[:-1])) <= 240 * MS_NS  # 200 ms, and the frames are 60 ms apart


@every_seed
def test_frozen_processes_lost_and_late_messages_leave_every_rule_intact(seeds: range) -> None:
    def freezes(cell: VirtualCell) -> None:
        victim = some_actor(cell, *VICTIMS, *OBSERVERS, "trial_node")
        victim.freeze()
        cell.queue.after(cell.queue.random.randrange(50, 1000) * MS_NS, victim.thaw)

    def drops(cell: VirtualCell) -> None:
        cell.links["/vla/actions"].drop = 0.5

    def delays(cell: VirtualCell) -> None:
        cell.links["/vla/actions"].delay_ns = cell.queue.random.randrange(50, 900) * MS_NS

    def shuffles(cell: VirtualCell) -> None:
        link = cell.queue.random.choice([cell.links["/vla/actions"], cell.links["/gate/lease"]])
        link.duplicate, link.shuffles = 0.5, True

    half = len(seeds) // 2
    for fault in (freezes, drops, delays, shuffles):
        interleavings(partial(play, fault=fault, options=CHUNKS), seeds[:half])
        interleavings(partial(play, fault=fault, options=SINGLE), seeds[half:])


def test_a_chunk_that_comes_after_its_last_step_is_refused_and_counted() -> None:
    cell = VirtualCell(1, CHUNKS)
    cell.begin()
    cell.run(is_over=lambda: len(cell.journal.accepted) == 2)
    cell.links["/vla/actions"].delay_ns = 800 * MS_NS
    cell.run(is_over=lambda: bool(cell.journal.refused))
    assert "last step was due" in cell.journal.refused[0]
    assert cell.arm.runner.refused == 1
    assert not cell.journal.broken

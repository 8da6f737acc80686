"""Answers that come late, twice or for another run: none counts for a later decision, none moves the arm."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from cell_robot import CAMERA_NS
from cell_senses import BRIGHT, DARK, ScriptedVla
from event_queue import MS_NS, SECOND_NS
from test_cell_trial import play
from virtual_cell import CellOptions, VirtualCell, every_interleaving, interleavings, with_plan

from embodied_iqa.arm.robot.messages import ArmMode
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.trial.decision_desk import DecisionDesk
from embodied_iqa.runs.trial.decision_timing import Decider
from embodied_iqa.runs.trial.protocol import MarkRunEnd, MarkRunStart
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, VlaObservation

NO_ARM = with_plan(CellOptions(), has_arm=False, no_motion_limit_ns=800 * MS_NS)

TWO_MOVES = with_plan(CellOptions(moves=2), distortions=())


def runs(cell: VirtualCell) -> list[tuple[int, int]]:
    """First and last stamp of each run that ended."""
    marks = cell.trial.marks
    starts = [mark.start_ns for mark in marks if isinstance(mark, MarkRunStart)]
    ends = [mark.result.end_ns for mark in marks if isinstance(mark, MarkRunEnd)]
    return list(zip(starts, ends, strict=False))


@every_interleaving
def test_an_answer_of_an_earlier_run_does_not_end_a_later_one(seeds: range) -> None:
    def slow(cell: VirtualCell) -> None:
        cell.vlm.thinks_ns = (10 * MS_NS, 400 * MS_NS, 1500 * MS_NS)

    def ends_on_its_own(seed: int) -> None:
        cell = VirtualCell(seed, NO_ARM)
        slow(cell)
        cell.begin()
        cell.run()
        assert cell.trial.finish is not None
        for index, (start_ns, end_ns) in enumerate(runs(cell)):
            own = [stamp for stamp, ended in cell.trial.answers if ended == index and stamp >= start_ns]
            reason = cell.trial.driver.state.results[index].reason
            assert (reason == "answered and decided") == (len(own) == 2), (index, reason, start_ns, end_ns)

    interleavings(ends_on_its_own, seeds)


@every_interleaving
def test_a_slow_policy_is_given_up_and_its_late_answers_move_nothing(seeds: range) -> None:
    def slow(cell: VirtualCell) -> None:
        cell.policy.thinks_ns = (5 * MS_NS, 300 * MS_NS, 700 * MS_NS, 1500 * MS_NS)

    def in_order(seed: int) -> None:
        cell = play(seed, slow)
        published = [sequence for sequence, _, _ in cell.journal.decisions]
        assert published == sorted(set(published))
        assert set(cell.journal.accepted) <= set(published)

    interleavings(in_order, seeds)


@every_interleaving
def test_a_decision_that_comes_twice_or_late_is_executed_once(seeds: range) -> None:
    def shuffles(cell: VirtualCell) -> None:
        link = cell.policy.actions
        link.duplicate, link.shuffles = 0.8, True

    def once(seed: int) -> None:
        cell = play(seed, shuffles, TWO_MOVES)
        assert max(Counter(cell.journal.accepted).values(), default=0) <= 1
        assert cell.journal.accepted == sorted(cell.journal.accepted)

    interleavings(once, seeds)


@every_interleaving
def test_reports_that_come_twice_or_late_count_a_motion_once(seeds: range) -> None:
    def shuffles(cell: VirtualCell) -> None:
        cell.arm.reports.duplicate, cell.arm.reports.shuffles = 0.8, True

    def counts(seed: int) -> None:
        cell = VirtualCell(seed, TWO_MOVES)
        shuffles(cell)
        cell.begin()
        cell.run()
        assert cell.trial.finish is not None
        assert not cell.journal.broken, cell.journal.broken
        steps, executed = cell.policy.vla.steps, len(cell.journal.completed)
        assert max(steps, default=0) <= executed, (steps, executed)

    interleavings(counts, seeds)


class Blinking(ScriptedVla):
    """It sees no target in a dark image."""

    blind = 0

    def act(self, observation: VlaObservation) -> ActionChunk:
        if observation.frames[View.TOP].rgb.mean() < BRIGHT.mean() / 2:
            self.blind += 1
            return ActionChunk.still(ChunkStatus.NO_TARGET, "dark")
        return super().act(observation)


@every_interleaving
def test_a_policy_that_sees_no_target_while_the_gate_holds_goes_on_when_it_opens(seeds: range) -> None:
    options = with_plan(
        CellOptions(), distortions=(), hold_limit_ns=20 * SECOND_NS, run_limit_ns=20 * SECOND_NS
    )

    def goes_on(seed: int) -> None:
        cell = VirtualCell(seed, options)
        vla = cell.policy.vla = Blinking(options.moves, options.increments)
        cell.policy.desk = DecisionDesk(Decider(200 * MS_NS, max_decisions=2))
        cell.camera.rgb = DARK
        cell.begin()
        cell.run(is_over=lambda: vla.blind >= 10)  # five decisions, each on two images
        cell.camera.rgb = BRIGHT
        cell.run()
        assert cell.trial.finish is not None
        assert not cell.journal.broken, cell.journal.broken
        assert cell.trial.driver.state.results[0].outcome == "success"

    interleavings(goes_on, seeds)


@every_interleaving
def test_a_hostile_decision_is_an_emergency_stop_and_nothing_moves_after_it(seeds: range) -> None:
    def lies(cell: VirtualCell) -> None:
        increments = np.zeros((1, 7))
        increments[0, 0] = cell.queue.random.choice((np.nan, np.inf, -np.inf, 10.0))
        cell.policy.vla.increments = increments

    def stops(seed: int) -> None:
        cell = VirtualCell(seed)
        lies(cell)
        cell.begin()
        cell.run()
        assert cell.trial.finish is not None
        assert cell.trial.finish.ok, cell.trial.finish.message
        assert not any(moves for _, moves in cell.journal.moves)
        assert not cell.journal.broken, cell.journal.broken
        assert cell.journal.stops[0].cause.is_emergency
        assert cell.trial.driver.state.results[0].outcome == "emergency_stop"
        stopped = [reason for _, mode, reason in cell.journal.modes if mode is ArmMode.STOPPED]
        assert stopped

    interleavings(stops, seeds)


@every_interleaving
def test_a_goal_on_a_frame_that_is_stale_or_was_never_judged_is_refused(seeds: range) -> None:
    def backdates(cell: VirtualCell) -> None:
        publish = cell.policy.actions.publish
        age_ns = cell.queue.random.choice((5 * MS_NS, -100 * MS_NS, 27 * CAMERA_NS))

        def shifted(record: ChunkRecord) -> None:
            publish(_shifted(record, age_ns))

        cell.policy.actions.publish = shifted

    def refuses(seed: int) -> None:
        cell = VirtualCell(seed, with_plan(CellOptions(), distortions=(), no_motion_limit_ns=2500 * MS_NS))
        backdates(cell)
        cell.begin()
        cell.run()
        assert cell.trial.finish is not None
        assert not cell.journal.accepted
        assert cell.journal.refused
        assert not any(moves for _, moves in cell.journal.moves)
        words = ("not leased", "old", "before the arm was armed", "in the future", "not judged")
        assert all(any(word in reason for word in words) for reason in cell.journal.refused)

    interleavings(refuses, seeds)


def _shifted(record: ChunkRecord, age_ns: int) -> ChunkRecord:
    return replace(record, stamp_ns=record.stamp_ns - age_ns)

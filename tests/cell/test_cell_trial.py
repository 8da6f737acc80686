"""Whole trials in the virtual cell: whatever happens, nothing moves without a lease and the trial ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from event_queue import MS_NS, SECOND_NS, Actor, Link
from virtual_cell import CellOptions, VirtualCell, every_interleaving, interleavings, with_plan

from embodied_iqa.runs.trial.protocol import Stage

BEGINS_NS, LASTS_NS = 200 * MS_NS, 1400 * MS_NS
"""Of the trial without a fault."""
MOST_EVENTS = 20_000
"""Of a trial; without a fault it has about 1,200."""
VICTIMS = ("sim_node", "camera_node", "distortion_node", "gate_node", "arm_node", "ur_worker", "vla_node")
OBSERVERS = ("vlm_node", "recorder_node")

Fault = Callable[[VirtualCell], None]


def play(
    seed: int, fault: Fault, options: CellOptions | None = None, *, running: bool = False
) -> VirtualCell:
    """Play a trial in which a fault begins at a moment of the seed; check the rules that always hold."""
    cell = VirtualCell(seed, options)
    cell.world.running = running
    cell.begin()
    cell.run(until_ns=BEGINS_NS + cell.queue.random.randrange(LASTS_NS))
    fault(cell)
    cell.run()
    stage = cell.trial.driver.state.stage.name
    assert cell.trial.finish is not None, f"the trial hangs in {stage}: {cell.trial.driver.state.pending}"
    assert cell.queue.handled < MOST_EVENTS, f"{cell.queue.handled} events"
    assert cell.trial.finish.ok or cell.trial.finish.message, "a trial that failed says why"
    results = cell.trial.driver.state.results
    assert all(result.reason for result in results)
    assert len(results) == cell.options.plan.run_count or not cell.trial.finish.ok
    assert not cell.journal.broken, cell.journal.broken
    assert not any(stop.cause.is_emergency for stop in cell.journal.stops), cell.journal.stops
    return cell


def some_actor(cell: VirtualCell, *names: str) -> Actor:
    return cell.actors[cell.queue.random.choice(names)]


def some_link(cell: VirtualCell) -> Link:
    return cell.queue.random.choice(list(cell.links.values()))


def test_without_a_fault_every_interleaving_gives_the_same_results() -> None:
    def same(seed: int) -> None:
        cell = play(seed, lambda _cell: None)
        assert cell.trial.finish is not None
        assert cell.trial.finish.ok, cell.trial.finish.message
        outcomes = [result.outcome for result in cell.trial.driver.state.results]
        assert outcomes == ["success", "held_by_the_gate"]

    interleavings(same, range(40))


@every_interleaving
def test_a_process_that_freezes_for_a_while(seeds: range) -> None:
    def freezes(cell: VirtualCell) -> None:
        victim = some_actor(cell, *VICTIMS, *OBSERVERS, "trial_node")
        victim.freeze()
        cell.queue.after(cell.queue.random.randrange(100, 2000) * MS_NS, victim.thaw)

    interleavings(partial(play, fault=freezes), seeds)


@every_interleaving
def test_a_process_that_dies(seeds: range) -> None:
    interleavings(partial(play, fault=lambda cell: some_actor(cell, *VICTIMS, *OBSERVERS).kill()), seeds)


@every_interleaving
def test_a_topic_that_falls_silent_for_a_while_or_for_good(seeds: range) -> None:
    def blocks(cell: VirtualCell) -> None:
        link = some_link(cell)
        link.is_blocked = True
        if cell.queue.random.random() < 0.5:
            cell.queue.after(cell.queue.random.randrange(50, 800) * MS_NS, link.unblock)

    interleavings(partial(play, fault=blocks), seeds)


@every_interleaving
def test_messages_that_come_late(seeds: range) -> None:
    def delays(cell: VirtualCell) -> None:
        some_link(cell).delay_ns = cell.queue.random.randrange(20, 400) * MS_NS

    interleavings(partial(play, fault=delays), seeds)


@every_interleaving
def test_messages_that_are_lost(seeds: range) -> None:
    def drops(cell: VirtualCell) -> None:
        some_link(cell).drop = 0.4

    interleavings(partial(play, fault=drops), seeds)


@every_interleaving
def test_messages_that_come_twice_or_overtake_each_other(seeds: range) -> None:
    def shuffles(cell: VirtualCell) -> None:
        link = some_link(cell)
        link.duplicate, link.shuffles = 0.5, True

    interleavings(partial(play, fault=shuffles), seeds)


SILENT = "camera_node: no image of top on /lab/image_raw for 2 s (none since 10:00:00 UTC)"


@every_interleaving
def test_a_real_arm_whose_images_or_verdicts_end(seeds: range) -> None:
    """No simulator reports the world there: without images the arm's reports carry the time."""

    def play_on_a_real_arm(seed: int) -> None:
        options = with_plan(CellOptions(lockstep=False), stops_time=False)
        under_way: list[bool] = []

        def dies(cell: VirtualCell) -> None:
            some_actor(cell, "camera_node", "distortion_node", "gate_node").kill()
            state = cell.trial.driver.state
            under_way.append(state.stage is Stage.EXECUTE and state.world is not None)
            cell.trial.fault = SILENT

        cell = play(seed, dies, options, running=True)
        results = cell.trial.driver.state.results
        finish = cell.trial.finish
        assert finish is not None
        assert finish.ok or finish.message.endswith(SILENT) or "failed: " in finish.message
        if under_way[0]:
            assert any(result.reason.endswith(SILENT) for result in results)

    interleavings(play_on_a_real_arm, seeds)


def test_a_person_ends_a_run_beside_a_silent_camera() -> None:
    far_ns = 50 * SECOND_NS
    limits = {"run_limit_ns": far_ns, "no_motion_limit_ns": far_ns, "hold_limit_ns": far_ns}
    cell = VirtualCell(2, with_plan(CellOptions(lockstep=False), stops_time=False, distortions=(), **limits))
    cell.world.running = True
    cell.begin()
    cell.run(until_ns=BEGINS_NS + 600 * MS_NS)
    state = cell.trial.driver.state
    assert (state.stage, state.world is None) == (Stage.EXECUTE, False)
    cell.camera.kill()
    cell.queue.after(SECOND_NS, cell.trial.take_end)
    cell.run(until_ns=far_ns)
    assert cell.trial.finish is not None
    assert cell.trial.finish.ok, cell.trial.finish.message
    (result,) = cell.trial.driver.state.results
    assert result.outcome == "held_by_the_gate", "the arm could not act: it says nothing about the policy"
    assert result.reason.startswith("ended by a person while the gate held the arm: ")

"""A thawed gate judges the newest image and counts the others live; in lockstep it judges all."""

from __future__ import annotations

import pytest
from event_queue import MS_NS
from virtual_cell import CellOptions, VirtualCell, interleavings

MISSED = 8


@pytest.mark.parametrize(
    ("lockstep", "most_judged", "late"), [(False, 1, MISSED - 1), (True, MISSED, 0)], ids=["live", "lockstep"]
)
def test_a_thawed_gate_catches_up(*, lockstep: bool, most_judged: int, late: int) -> None:
    def catches_up(seed: int) -> None:
        cell = VirtualCell(seed, CellOptions(lockstep=lockstep))
        cell.world.running = True
        gate, distorted = cell.gate, cell.distortion.images

        def until(is_so: object) -> None:
            cell.run(until_ns=cell.queue.now_ns + 10_000 * MS_NS, is_over=is_so)

        until(lambda: sum(gate.counts.values()) == 2 + cell.queue.random.randrange(2))
        cell.run(until_ns=cell.queue.now_ns + 5 * MS_NS, is_over=lambda: False)
        judged, before = sum(gate.counts.values()), distorted.published
        assert gate.late.total == 0
        gate.freeze()
        until(lambda: distorted.published == before + MISSED)
        cell.run(until_ns=cell.queue.now_ns + 5 * MS_NS, is_over=lambda: False)
        cell.camera.kill()
        gate.thaw()
        cell.run(until_ns=cell.queue.now_ns + 5 * MS_NS, is_over=lambda: False)
        assert sum(gate.counts.values()) - judged == most_judged
        assert gate.late.total == late

    interleavings(catches_up, range(40))

"""Decisions wait for the verdict on their frame, in a queue of limited length."""

from __future__ import annotations

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.quality.gate.waiting_decisions import WaitingDecisions


def decision(sequence: int) -> GateDecision:
    return GateDecision(View.TOP, 1_000 * sequence, sequence, 0.5)


def test_a_decision_is_due_when_its_frame_is_judged_and_only_once() -> None:
    waiting = WaitingDecisions()
    first, second = decision(1), decision(2)
    assert waiting.add(first) is waiting.add(second) is None
    assert waiting.take(lambda _view, stamp_ns: stamp_ns == second.stamp_ns) == [second]
    assert waiting.take(lambda view, _stamp_ns: view == View.TOP) == [first]
    assert waiting.take(lambda _view, _stamp_ns: True) == []
    assert waiting.dropped == 0


def test_the_oldest_of_too_many_is_dropped_and_counted() -> None:
    waiting = WaitingDecisions()
    dropped = [waiting.add(decision(sequence)) for sequence in range(1, 11)]
    assert dropped == [*[None] * 8, decision(1), decision(2)]
    assert waiting.dropped == 2
    assert [one.sequence for one in waiting.take(lambda _view, _stamp_ns: True)] == list(range(3, 11))

"""Who is waited for: the living, and only once after they have fallen silent."""

from __future__ import annotations

from embodied_iqa.simulation.lockstep import Lockstep


def test_nobody_is_waited_for_before_being_heard():
    assert Lockstep(["arm", "top"]).late(["arm", "top"], 10) == []


def test_whoever_was_heard_is_waited_for_until_the_stamp_is_answered():
    lockstep = Lockstep(["arm", "top"])
    lockstep.heard("arm", 5)
    assert lockstep.late(["arm", "top"], 10) == ["arm"]
    lockstep.heard("arm", 10)
    assert lockstep.late(["arm", "top"], 10) == []


def test_an_old_answer_takes_nothing_back():
    lockstep = Lockstep(["arm"])
    lockstep.heard("arm", 10)
    lockstep.heard("arm", 3)
    assert lockstep.late(["arm"], 10) == []


def test_the_silent_cost_one_deadline_until_they_are_heard_again():
    lockstep = Lockstep(["arm"])
    lockstep.heard("arm", 1)
    lockstep.give_up(lockstep.late(["arm"], 2))
    assert lockstep.late(["arm"], 3) == []
    assert lockstep.missed == {"arm": 1}
    lockstep.heard("arm", 3)
    assert lockstep.late(["arm"], 4) == ["arm"]


def test_a_stranger_is_ignored():
    lockstep = Lockstep(["arm"])
    lockstep.heard("side", 1)
    assert lockstep.missed == {"arm": 0}

"""Lockstep waits for live partners, and only one deadline after their last answer."""

from __future__ import annotations

from embodied_iqa.world.simulation.lockstep import Lockstep


def test_no_wait_before_the_first_answer():
    assert Lockstep(["arm", "top"]).late(["arm", "top"], 10) == []


def test_waits_for_a_live_partner_until_it_answers_the_stamp():
    lockstep = Lockstep(["arm", "top"])
    lockstep.heard("arm", 5)
    assert lockstep.late(["arm", "top"], 10) == ["arm"]
    lockstep.heard("arm", 10)
    assert lockstep.late(["arm", "top"], 10) == []


def test_an_older_answer_changes_nothing():
    lockstep = Lockstep(["arm"])
    lockstep.heard("arm", 10)
    lockstep.heard("arm", 3)
    assert lockstep.late(["arm"], 10) == []


def test_a_silent_partner_costs_one_deadline_until_its_next_answer():
    lockstep = Lockstep(["arm"])
    lockstep.heard("arm", 1)
    lockstep.give_up(lockstep.late(["arm"], 2))
    assert lockstep.late(["arm"], 3) == []
    assert lockstep.missed == {"arm": 1}
    lockstep.heard("arm", 3)
    assert lockstep.late(["arm"], 4) == ["arm"]


def test_an_unknown_partner_is_ignored():
    lockstep = Lockstep(["arm"])
    lockstep.heard("side", 1)
    assert lockstep.missed == {"arm": 0}

"""Places of clients of a policy server."""

from __future__ import annotations

from embodied_iqa.models.subjects.serving.admission import Admission


def test_the_longest_idle_client_makes_room_once_it_is_idle_for_long_enough() -> None:
    places: Admission[str] = Admission(most=2, most_per_address=2, idle_s=10.0)
    assert places.admit("a", "one", 0.0) == (True, None)
    assert places.admit("b", "two", 1.0) == (True, None)
    assert places.admit("c", "three", 9.9) == (False, None)
    assert places.admit("c", "three", 10.0) == (True, "a")
    places.leave("a")
    assert places.admit("d", "four", 11.0) == (True, "b")
    assert places.admit("e", "five", 12.0) == (False, None)


def test_a_client_with_an_open_question_keeps_its_place() -> None:
    places: Admission[str] = Admission(most=1, most_per_address=1, idle_s=10.0)
    assert places.admit("a", "one", 0.0) == (True, None)
    places.asked("a")
    assert places.admit("b", "two", 1000.0) == (False, None)
    places.answered("a", 1000.0)
    assert places.admit("b", "two", 1009.0) == (False, None)
    assert places.admit("b", "two", 1010.0) == (True, "a")


def test_an_address_displaces_only_its_own_clients() -> None:
    places: Admission[str] = Admission(most=4, most_per_address=2, idle_s=10.0)
    assert places.admit("good", "one", 0.0) == (True, None)
    for number in range(2):
        assert places.admit(f"bad {number}", "two", 1.0 + number) == (True, None)
    assert places.admit("bad 2", "two", 50.0) == (True, "bad 0")
    assert places.admit("bad 3", "two", 51.0) == (True, "bad 1")
    assert places.admit("bad 4", "two", 52.0) == (False, None)
    places.leave("bad 2")
    assert places.admit("bad 4", "two", 53.0) == (True, None)

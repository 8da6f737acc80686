"""The arm's state in an image does not depend on what has arrived since."""

from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.imaging.images.state_history import StateHistory


@given(st.lists(st.integers(0, 100), min_size=1, unique=True).map(sorted), st.integers(0, 100))
def test_the_state_of_a_stamp_is_final_once_it_is_known(stamps: list[int], stamp: int) -> None:
    history: StateHistory[int] = StateHistory()
    seen = []
    for state in stamps:
        history.add(state, state)
        seen.append(history.at(stamp))
    known = [state for state in seen if state is not None]
    assert len(set(known)) <= 1
    assert bool(known) == (stamps[-1] >= stamp)
    if known:
        assert known[0] == max([state for state in stamps if state <= stamp], default=stamps[0])


def test_a_time_that_is_set_back_starts_a_new_history() -> None:
    history: StateHistory[str] = StateHistory()
    history.add(50, "before")
    history.add(10, "after")
    assert history.at(50) is None
    assert history.at(10) == "after"


def test_the_nearest_state_in_time_is_used_and_none_too_far() -> None:
    history: StateHistory[int] = StateHistory(capacity=3)
    assert history.nearest(0, 50) is None
    for index in range(4):
        history.add(index * 40, index)
    assert history.nearest(70, 50) == 2
    assert history.nearest(55, 50) == 1
    assert history.nearest(170, 50) == 3
    assert history.nearest(171, 50) is None
    assert history.nearest(-20, 50) is None  # the oldest has gone
    history.add(10, 9)
    assert history.nearest(80, 50) is None
    assert history.nearest(10, 50) == 9

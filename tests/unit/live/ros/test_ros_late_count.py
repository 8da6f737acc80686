"""Messages that a node never handled are counted, topic by topic."""

from __future__ import annotations

from embodied_iqa.live.ros.late_count import LateCount


def test_gaps_between_handled_messages_count_and_a_restarted_publisher_does_not() -> None:
    late, handled = LateCount(), []
    top, wrist = late.counting(handled.append), late.counting(handled.append)
    for number in (7, 8, 12):  # joined late, then three were overtaken
        top(number, {"publication_sequence_number": number})
    wrist(1, {"publication_sequence_number": 1})
    assert late.total == 3
    for number in (1, 2, 4):  # restarted
        top(number, {"publication_sequence_number": number})
    assert late.total == 4
    assert handled == [7, 8, 12, 1, 1, 2, 4]


def test_what_was_missed_before_a_restart_does_not_count() -> None:
    late = LateCount()
    top = late.counting(lambda _number: None)
    for number in (1, 4):
        top(number, {"publication_sequence_number": number})
    late.restart()
    assert late.total == 0
    for number in (9, 11):
        top(number, {"publication_sequence_number": number})
    assert late.total == 1

"""Messages that a node never handled are counted, topic by topic."""

from __future__ import annotations

from embodied_iqa.live.nodes.recorder_node import lost_in_words
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


def test_two_publishers_of_a_topic_count_each_for_itself() -> None:
    """As of decisions: the policy's, and those of the way back to the start."""
    late = LateCount()
    handle = late.counting(lambda _message: None, "decisions")
    for number in (44, 45, 1, 46, 47, 2, 49):
        handle("", {"publication_sequence_number": number})
    assert (late.total, late.by_topic) == (1, {"decisions": 1})


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


def test_what_is_missing_is_counted_for_each_topic_and_named() -> None:
    count = LateCount()
    for topic, numbers in (("/gate/lease", (1, 4)), ("/vla/actions", (1, 2)), ("/arm/status", (1, 3))):
        handle = count.counting(lambda _message: None, topic)
        for number in numbers:
            handle("", {"publication_sequence_number": number})
    assert (count.total, count.by_topic) == (3, {"/gate/lease": 2, "/arm/status": 1})
    words = "3 messages are not in the recording: /arm/status 1, /gate/lease 2"
    assert lost_in_words(count.total, count.by_topic) == words
    assert (lost_in_words(2, {}), lost_in_words(0, {})) == ("2 messages are not in the recording", "")
    count.restart()
    assert not count.by_topic

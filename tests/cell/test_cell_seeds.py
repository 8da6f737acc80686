"""A seed gives its interleaving again; another seed gives another; a failure names its seed."""

from __future__ import annotations

from functools import partial

import pytest
from event_queue import MS_NS, Actor, EventQueue, Link
from virtual_cell import VirtualCell, interleavings


def played(seed: int) -> VirtualCell:
    cell = VirtualCell(seed)
    cell.begin()
    cell.run()
    return cell


def test_a_seed_is_played_the_same_again_and_others_differ() -> None:
    first = played(3)
    assert first.journal.digest() == played(3).journal.digest()
    assert first.queue.handled == played(3).queue.handled
    assert len({played(seed).journal.digest() for seed in range(8)}) > 4


def test_a_failure_names_its_seed_and_the_seed_is_played_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def fails_at_three(seed: int) -> None:
        tried.append(seed)
        assert seed != 3, "the finding"

    with pytest.raises(AssertionError, match="the finding") as caught:
        interleavings(fails_at_three, range(9))
    assert tried == [0, 1, 2, 3]
    assert any("CELL_SEED=3 " in note for note in caught.value.__notes__)
    monkeypatch.setenv("CELL_SEED", "3")
    with pytest.raises(AssertionError):
        interleavings(fails_at_three, range(9))
    assert tried == [0, 1, 2, 3, 3]


def test_ties_come_in_every_order() -> None:
    orders = set()
    for seed in range(60):
        queue, heard = EventQueue(seed), []
        for name in "abc":
            queue.after(0, partial(heard.append, name))
        queue.run(lambda: False, until_ns=0)
        orders.add("".join(heard))
    assert len(orders) == 6


@pytest.mark.parametrize("seed", range(20))
def test_a_link_keeps_order_unless_it_shuffles(seed: int) -> None:
    queue = EventQueue(seed)
    link, heard, actor = Link(queue, 10), [], Actor(queue, "ear")
    link.to(actor, heard.append)
    for number in range(8):
        link.publish(number)
    queue.run(lambda: False, until_ns=MS_NS)
    assert heard == list(range(8))
    link.shuffles, link.duplicate = True, 1.0
    for number in range(8):
        link.publish(number)
    queue.run(lambda: False, until_ns=1000 * MS_NS)
    assert sorted(heard[8:]) == sorted([*range(8), *range(8)])
    assert heard[8:] != sorted(heard[8:])


@pytest.mark.parametrize("depth", [1, 3])
def test_what_is_frozen_keeps_the_newest_messages_and_handles_them_at_its_thaw(depth: int) -> None:
    queue = EventQueue(1)
    link, heard, actor = Link(queue, 10), [], Actor(queue, "ear")
    link.to(actor, heard.append, depth)
    ticks: list[int] = []
    actor.every(10 * MS_NS, lambda: ticks.append(queue.now_ns))
    queue.run(lambda: False, until_ns=5 * MS_NS)
    actor.freeze()
    for number in range(6):
        link.publish(number)
    queue.run(lambda: False, until_ns=95 * MS_NS)
    assert (heard, ticks) == ([], [0])
    actor.thaw()
    queue.run(lambda: False, until_ns=99 * MS_NS)
    assert heard == list(range(6))[-depth:]
    assert ticks == [0, 95 * MS_NS]
    actor.kill()
    link.publish(9)
    queue.run(lambda: False, until_ns=200 * MS_NS)
    assert 9 not in heard


def test_a_blocked_link_keeps_what_its_publisher_keeps() -> None:
    queue = EventQueue(1)
    link, heard, actor = Link(queue, 3), [], Actor(queue, "ear")
    link.to(actor, heard.append)
    link.is_blocked = True
    for number in range(6):
        link.publish(number)
    queue.run(lambda: False, until_ns=50 * MS_NS)
    assert heard == []
    link.unblock()
    queue.run(lambda: False, until_ns=99 * MS_NS)
    assert heard == [3, 4, 5]

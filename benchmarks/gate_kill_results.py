"""Kills of `bench_gate_kills.py`, and their table."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_json, unstructure


class Kind(StrEnum):
    """What is killed."""

    GATE = "gate"
    PROXY = "proxy"
    POLICY = "policy"

    @property
    def consumer(self) -> str:
        """What has to stop, and its watchdog."""
        if self is Kind.GATE:
            return "`lease_follower.py`, 0.12 s from the image"
        return "openpi's client, 0.2 s from the action"


@dataclass(frozen=True, slots=True)
class GateKill:
    """One kill.

    Attributes:
        kind: What was killed.
        at_s: After the consumer had begun to move [s].
        moved: Whether the consumer moved at that moment.
        stopped_s: From the kill, or from an action that was on its way then, to the standstill [s]; 0 where
            it stood.
        limit_s: The watchdog and what measuring takes [s].
        problem: What else was wrong; empty for nothing.
        load: Processes that wanted to run, mean of a minute.
    """

    kind: Kind
    at_s: float
    moved: bool
    stopped_s: float
    limit_s: float
    problem: str = ""
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def is_in_time(self) -> bool:
        """Whether the consumer stopped within its watchdog, and nothing moved it after that."""
        return not self.problem and self.stopped_s <= self.limit_s

    @property
    def words(self) -> str:
        """What happened."""
        if self.problem:
            return self.problem
        late = "" if self.is_in_time else ", late"
        return f"stands after {1e3 * self.stopped_s:.0f} ms{late}" if self.moved else "stood already"


@dataclass(frozen=True, slots=True)
class GateKills:
    """All kills of a file."""

    kills: tuple[GateKill, ...]


def read(path: Path | None) -> list[GateKill]:
    """Return the kills of a file; none where there is no file."""
    if path is None or not path.is_file():
        return []
    return list(read_json(GateKills, path, "the kills in").kills)


def write(path: Path, done: list[GateKill]) -> None:
    """Write all kills."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_whole(path, unstructure(GateKills(tuple(done))))


def table(done: list[GateKill]) -> str:
    """Return the results as a table in Markdown."""
    columns = ("killed", "consumer and its watchdog", "kills", "while it moved", "stands after [ms] p50, max")
    lines = [_row(*columns, "limit [ms]", "in time", "load"), "|---|---|---|---|---|---|---|---|"]
    for kind in Kind:
        found = [one for one in done if one.kind is kind]
        if found:
            times = sorted(1e3 * one.stopped_s for one in found if one.moved) or [0.0]
            stands = f"{times[len(times) // 2]:.0f}, {times[-1]:.0f}"
            moved, good = sum(one.moved for one in found), sum(one.is_in_time for one in found)
            loads = sorted(one.load for one in found)
            in_time, load = f"{good} of {len(found)}", f"{loads[0]:.0f} to {loads[-1]:.0f}"
            limit = f"{1e3 * found[0].limit_s:.0f}"
            lines.append(_row(kind, kind.consumer, len(found), moved, stands, limit, in_time, load))
    wrong = [f"- {one.kind}: {one.words}" for one in done if not one.is_in_time]
    return "\n".join([*lines, *(["", *wrong] if wrong else [])])


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"

"""Kinds of injections of `bench_hold.py`, what each showed, and their table."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.pages.reports.kit.origin import with_origin

_MAX_MS: Final = 500.0
_NUMBER: Final = re.compile(r"\b\d+(?:\.\d+)?")


class Kind(StrEnum):
    """What happens to the graph."""

    GATE_KILLED = "gate killed"
    GATE_FROZEN = "gate frozen"
    GATE_LATE = "gate late by 200 ms"
    CAMERA_FROZEN = "camera frozen"
    ARM_FROZEN = "arm_node frozen"
    ARM_KILLED = "arm_node killed"
    TRAFFIC_BLOCKED = "DDS traffic blocked"
    SIM_FROZEN = "sim_node frozen"
    DISTORTION_FROZEN = "distortion_node frozen"
    WORKER_FROZEN = "ur_worker frozen"
    VLM_FROZEN = "vlm_node frozen"
    VLA_FROZEN = "vla_node frozen"
    RECORDER_FROZEN = "recorder_node frozen"
    TRIAL_FROZEN = "trial_node frozen"

    @property
    def victim(self) -> str:
        """The node that freezes or dies, or whose worker does; empty for none."""
        if self is Kind.WORKER_FROZEN:
            return "arm_node"
        return "" if self is Kind.TRAFFIC_BLOCKED else self.split()[0].removesuffix("_node") + "_node"

    @property
    def holds(self) -> bool:
        """Whether the arm has to stand; time stands still with sim_node, and the others only observe."""
        return self in FAULTS or self in {Kind.DISTORTION_FROZEN, Kind.WORKER_FROZEN}

    @property
    def goal_ms(self) -> float:
        """Goal of the 99th percentile; the watchdog of the robot's program ends a silence of 250 ms."""
        goals = {Kind.CAMERA_FROZEN: 250.0, Kind.ARM_KILLED: 100.0, Kind.ARM_FROZEN: _MAX_MS}
        goals |= {Kind.DISTORTION_FROZEN: 250.0, Kind.WORKER_FROZEN: _MAX_MS}
        return goals.get(self, 150.0)

    @property
    def is_mute(self) -> bool:
        """Whether no report can come in time, so that the goal is about the robot."""
        return self in {Kind.ARM_FROZEN, Kind.ARM_KILLED, Kind.TRAFFIC_BLOCKED, Kind.WORKER_FROZEN}

    @property
    def resumes(self) -> bool:
        """Whether the arm moves on by itself once the fault is over."""
        return self not in {Kind.GATE_KILLED, Kind.ARM_FROZEN, Kind.ARM_KILLED, Kind.WORKER_FROZEN}


FAULTS: Final = tuple(Kind)[: tuple(Kind).index(Kind.SIM_FROZEN)]
"""What the arm has to react to."""
THAWED: Final = tuple(kind for kind in Kind if kind.endswith(" frozen"))
"""Every process of the graph, frozen and thawed."""
_THAW_GOAL_MS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Injection:
    """One injection; times in ms from the fault, NaN where it did not happen.

    Attributes:
        kind: What happened.
        busy: Busy processes beside it.
        wall_ns: When, in this machine's system time.
        ros_ns: When, in ROS time.
        decided_ros_ms: To the stamp of the status that says HOLDING or STOPPED, ROS time.
        still_ros_ms: To the first state of the robot that is commanded to stand, ROS time.
        still_ms: The same, on this machine's clock.
        arrived_ms: To the arrival of that status, on this machine's clock.
        resumed_ms: From the end of the fault to the arrival of a status that reports motion.
        cause: What the status names as the cause of a stop, and why the arm holds.
        missed: What did not happen in time.
    """

    kind: Kind
    busy: int
    wall_ns: int
    ros_ns: int
    decided_ros_ms: float = math.nan
    still_ros_ms: float = math.nan
    still_ms: float = math.nan
    arrived_ms: float = math.nan
    resumed_ms: float = math.nan
    cause: str = ""
    missed: str = ""

    @property
    def explanation(self) -> str:
        """Why it took longer than its goal; empty if it did not."""
        goal_ms = self.kind.goal_ms
        if self.missed:
            return self.missed
        if not self.measured_ms > goal_ms:
            return ""
        if self.kind.is_mute:
            return f"the world ran at {100 * self.still_ros_ms / self.still_ms:.0f} % of real time"
        if self.decided_ros_ms > goal_ms:
            return "decided late"
        if self.still_ms < self.arrived_ms:
            return "stood before the report arrived"
        return "decided in time; world or report were late on this machine's clock"

    @property
    def measured_ms(self) -> float:
        """What the goal is about."""
        return self.still_ms if self.kind.is_mute else self.arrived_ms


def table(done: list[Injection]) -> str:
    """Return the results as a table in Markdown."""
    heads = [
        "fault", "busy processes", "injections", "decided [ROS ms] p50, p99, max",
        "robot commanded to stand [ms] p50, p99, max", "reported [ms] p50, p99, max",
        "moves again after [ms] p50, max", "goal p99 [ms]", "later than the goal",
    ]  # fmt: skip
    lines = [
        f"| {' | '.join(heads)} |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in FAULTS:
        for busy in sorted({d.busy for d in done}):
            found = [d for d in done if (d.kind, d.busy) == (kind, busy)]
            if found:
                cells = [
                    str(kind), str(busy), str(len(found)),
                    _percentiles([d.decided_ros_ms for d in found], 50, 99, 100),
                    _percentiles([d.still_ms for d in found], 50, 99, 100),
                    _percentiles([d.arrived_ms for d in found], 50, 99, 100),
                    _percentiles([d.resumed_ms for d in found], 50, 100),
                    f"{kind.goal_ms:.0f}",
                    late_words([d.explanation for d in found]),
                ]  # fmt: skip
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def late_words(explanations: Sequence[str]) -> str:
    """Return how many were late and why, one entry for each reason: its numbers become ranges."""
    reasons: dict[str, list[list[str]]] = {}
    for words in filter(None, explanations):
        reasons.setdefault(_NUMBER.sub("{}", words), []).append(_NUMBER.findall(words))
    entries: list[str] = []
    for reason, numbers in reasons.items():
        ends = ((min(column, key=float), max(column, key=float)) for column in zip(*numbers, strict=True))
        ranges = (low if low == high else f"{low} to {high}" for low, high in ends)
        entries.append(f"{len(numbers)}: {reason.format(*ranges)}")
    return "; ".join(entries) or "none"


def thaw_table(done: list[Injection]) -> str:
    """Return how soon the arm moves again after each process was frozen, as a table in Markdown."""
    lines = [
        "| frozen for 2 s | busy processes | freezes | moves again after [ms] p50, max | later than 300 ms |",
        "|---|---|---|---|---|",
    ]
    for kind in THAWED:
        for busy in sorted({d.busy for d in done if d.kind is kind}):
            found = [d for d in done if (d.kind, d.busy) == (kind, busy)]
            moved = [d.resumed_ms for d in found]
            late = str(sum(not value <= _THAW_GOAL_MS for value in moved))
            if not kind.resumes:
                late = "the arm stops and must be armed again"
            name = kind.removesuffix(" frozen")
            lines.append(f"| {name} | {busy} | {len(found)} | {_percentiles(moved, 50, 100)} | {late} |")
    return "\n".join(lines)


def _percentiles(values: list[float], *percents: float) -> str:
    there = [value for value in values if math.isfinite(value)]
    return ", ".join(f"{value:.0f}" for value in np.percentile(there, percents)) if there else "-"


def read(path: Path | None) -> list[Injection]:
    """Return the injections of a file; none where there is no file."""
    if path is None or not path.is_file():
        return []
    rows = json.loads(path.read_text(encoding="utf-8"))["injections"]
    return [_injection(row | {"kind": Kind(row["kind"])}) for row in rows]


def _injection(row: dict[str, Any]) -> Injection:
    values: dict[str, Any] = {name: math.nan if value is None else value for name, value in row.items()}
    return Injection(**values)


def write(path: Path, done: list[Injection]) -> None:
    """Write the injections; what did not happen is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {name: None if value != value else value for name, value in asdict(one).items()}  # noqa: PLR0124 - NaN
        for one in done
    ]
    write_json_whole(path, {"schema": 1, "injections": rows})


def write_page(page: Path, text: str, benchmark: str = "bench_hold") -> None:
    """Replace what a benchmark shows on a page, between its two marks, and the origin of its numbers."""
    begin, end = f"<!-- {benchmark} -->", f"<!-- end of {benchmark} -->"
    former = page.read_text(encoding="utf-8")
    before, _, rest = former.partition(begin)
    _, _, after = rest.partition(end)
    whole = f"{before}{begin}\n{text}\n{end}{after}"
    page.write_text(with_origin(whole, former, page), encoding="utf-8")

"""What `bench_soak.py` measures, as lines of JSON, and its tables."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.records import structure, unstructure

_WINDOW_S: Final = 600.0
_WARM_UP: Final = 0.25
"""Share of a run shorter than four windows that does not count as warm."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the graph.

    Attributes:
        name: Its node; for a worker that a node started, also the worker.
        rss_mib: Resident memory [MiB].
        descriptors: Open file descriptors.
        threads: Its threads.
    """

    name: str
    rss_mib: float
    descriptors: int
    threads: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Images of all views, as the nodes count them.

    Attributes:
        due: Snapshots of the world times views.
        drawn: Published by the cameras.
        camera_late: Overtaken by a newer one before the camera drew them; likewise the others.
        distorted: Handled by distortion_node.
        distortion_late: Overtaken there.
        judged: Handled by gate_node.
        gate_late: Overtaken there.
        refused: Refused as damaged, by either.
    """

    due: int = 0
    drawn: int = 0
    camera_late: int = 0
    distorted: int = 0
    distortion_late: int = 0
    judged: int = 0
    gate_late: int = 0
    refused: int = 0

    @property
    def late(self) -> int:
        """Images that a newer one overtook."""
        return self.camera_late + self.distortion_late + self.gate_late

    @property
    def lost(self) -> int:
        """Images that no node accounts for; exact while the world stands still."""
        missing = (
            self.due - self.drawn - self.camera_late,
            self.drawn - self.distorted - self.distortion_late,
            self.distorted - self.judged - self.gate_late - self.refused,
        )
        return sum(map(abs, missing))

    def since(self, before: Counts) -> Counts:
        """Return the images since an earlier count."""
        return Counts(*(getattr(self, one.name) - getattr(before, one.name) for one in fields(self)))


@dataclass(frozen=True, slots=True)
class Sample:
    """State of the graph.

    Attributes:
        at_s: Since the start, this machine's clock.
        processes: Every process.
        segments: Shared-memory segments that they have mapped.
        latency_ms: From the snapshot of the world to the verdict on its image, of each verdict since the
            last sample, both as they arrive at the observer.
    """

    at_s: float
    processes: tuple[Process, ...]
    segments: int
    latency_ms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial.

    Attributes:
        task: The instruction.
        began_s: Since the start.
        ended_s: Since the start.
        counts: Images since the start, with the world at a standstill after the trial; so is the rest.
        descriptors: Open file descriptors of the nodes.
        segments: Shared-memory segments that are mapped.
        recorded: Images in the recording.
        skipped: Images of snapshots in the runs that are not in the recording.
        dropped: Messages of any topic that did not reach the recording, as the recorder counts them.
        error: Why it failed; empty if it did not.
    """

    task: str
    began_s: float
    ended_s: float
    counts: Counts
    descriptors: int
    segments: int
    recorded: int = 0
    skipped: int = 0
    dropped: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """What runs.

    Attributes:
        minutes: Planned duration [min].
        lockstep: The world waits for verdicts.
        distortion: Of the second run of each trial.
        width_px: Of an image.
        height_px: Of an image.
        views: The cameras.
        cores: Of this machine.
        load: Load average before the start.
    """

    minutes: float
    lockstep: bool
    distortion: str
    width_px: int
    height_px: int
    views: tuple[str, ...]
    cores: int
    load: float


@dataclass(frozen=True, slots=True)
class End:
    """The end of the graph.

    Attributes:
        at_s: Since the start.
        left_processes: Processes of the graph that still run.
        left_segments: Shared-memory segments of the graph that still exist.
    """

    at_s: float
    left_processes: tuple[str, ...]
    left_segments: tuple[str, ...]


Line = Setup | Sample | Trial | End
_KINDS: Final[dict[str, type[Line]]] = {kind.__name__.lower(): kind for kind in (Setup, Sample, Trial, End)}


def append(path: Path | None, line: Line) -> None:
    """Write a line at once: what was measured survives an interrupt."""
    if path is None:
        return
    text = json.dumps({"kind": type(line).__name__.lower(), **unstructure(line)})
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


@dataclass
class Soak:
    """The lines of a run."""

    setup: Setup
    samples: list[Sample]
    trials: list[Trial]
    end: End | None

    @cached_property
    def window_s(self) -> float:
        """Duration of the first and of the last part that are compared [s]."""
        return min(_WINDOW_S, _WARM_UP * self.samples[-1].at_s)

    @property
    def counts(self) -> Counts:
        """The images from the end of the first trial, which starts the counters, to that of the last."""
        return self.trials[-1].counts.since(self.trials[0].counts) if self.trials else Counts()

    @property
    def names(self) -> list[str]:
        """The processes."""
        return list(dict.fromkeys(one.name for sample in self.samples for one in sample.processes))

    def part(self, from_s: float, to_s: float) -> list[Sample]:
        """Return the samples of a time."""
        return [sample for sample in self.samples if from_s <= sample.at_s <= to_s]

    @property
    def warm(self) -> list[Sample]:
        """Return the first part after the warm-up, which is as long."""
        return self.part(self.window_s, 2 * self.window_s)

    @property
    def last(self) -> list[Sample]:
        """Return the last part."""
        return self.part(self.samples[-1].at_s - self.window_s, self.samples[-1].at_s)

    def rss_mib(self, name: str, samples: list[Sample]) -> float:
        """Return the median of the resident memory of a process; NaN where it did not run."""
        found = [one.rss_mib for sample in samples for one in sample.processes if one.name == name]
        return float(np.median(found)) if found else float("nan")

    def growth_percent(self, name: str) -> float:
        """Return how much a process grew from the warm part to the last."""
        return 100.0 * (self.rss_mib(name, self.last) / self.rss_mib(name, self.warm) - 1.0)

    def descriptors(self, name: str, samples: list[Sample]) -> list[int]:
        """Return the numbers of open file descriptors."""
        return [one.descriptors for sample in samples for one in sample.processes if one.name == name]


def read(path: Path) -> Soak:
    """Return the last run of a file; a line that was cut short is left out."""
    setup: Setup | None = None
    samples: list[Sample] = []
    trials: list[Trial] = []
    end: End | None = None
    for text in path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines():
        tree = json.loads(text)
        match structure(_KINDS[tree.pop("kind")], tree, str(path)):
            case Setup() as line:
                setup, samples, trials, end = line, [], [], None
            case Sample() as line:
                samples.append(line)
            case Trial() as line:
                trials.append(line)
            case End() as line:
                end = line
    if setup is None or not samples:
        raise SystemExit(f"{path} holds no samples")
    return Soak(setup, samples, trials, end)


def chapter(soak: Soak, plot: str) -> str:
    """Return the results in Markdown.

    Args:
        soak: The run.
        plot: Path of the plot, relative to the page; empty for none.
    """
    setup, counts = soak.setup, soak.counts
    minutes = soak.samples[-1].at_s / 60.0
    failed = [trial for trial in soak.trials if trial.error]
    mode = "with lockstep" if setup.lockstep else "in real time, without lockstep"
    first, whole = _latency(soak.part(0.0, soak.window_s)), (sum(t.recorded for t in soak.trials))
    lines = [
        f"{minutes:.0f} minutes {mode}, {len(setup.views)} cameras at {setup.width_px}x{setup.height_px},",
        f"{len(soak.trials)} trials one after another, {len(failed)} of them failed, {setup.cores} cores.",
        "",
        "| | first part | last part |",
        "|---|---|---|",
        f"| duration [min] | {soak.window_s / 60:.1f} | {soak.window_s / 60:.1f} |",
        f"| latency from world to verdict, p50, p99 [ms] | {first} | {_latency(soak.last)} |",
        "",
        f"Images after the first trial: {counts.due} due, {counts.judged} judged, {counts.late} late",
        f"({counts.camera_late} at the cameras, {counts.distortion_late} at the distortion,",
        f"{counts.gate_late} at the gate), {counts.refused} refused, {counts.lost} lost.",
        f"Recordings: {whole} images; {sum(t.skipped for t in soak.trials)} of the runs are missing,",
        f"{sum(t.dropped for t in soak.trials)} messages lost by the recorder. At rest after each trial:",
        f"{_range([t.descriptors for t in soak.trials])} file descriptors,",
        f"{_range([t.segments for t in soak.trials])} shared-memory segments.",
        _left(soak.end),
        "",
        "| process | memory when warm [MiB] | at the end [MiB] | growth | descriptors, warm | at the end |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_process_row(soak, name) for name in soak.names]
    if plot:
        lines += ["", f"![Memory of each process and latency over time]({plot})"]
    return "\n".join(lines)


def _left(end: End | None) -> str:
    if end is None:
        return "The run was interrupted: its end is not in the table."
    processes = ", ".join(end.left_processes) or "no process"
    return f"Left at the end: {processes}, {len(end.left_segments)} shared-memory segments."


def _process_row(soak: Soak, name: str) -> str:
    warm, last = soak.warm, soak.last
    return (
        f"| {name} | {soak.rss_mib(name, warm):.1f} | {soak.rss_mib(name, last):.1f} "
        f"| {soak.growth_percent(name):+.1f} % | {_range(soak.descriptors(name, warm))} "
        f"| {_range(soak.descriptors(name, last))} |"
    )


def _latency(samples: list[Sample]) -> str:
    values = [value for sample in samples for value in sample.latency_ms]
    return ", ".join(f"{v:.0f}" for v in np.percentile(values, [50, 99])) if values else "-"


def _range(values: list[int]) -> str:
    if not values:
        return "-"
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"

r"""Endurance of the whole graph, one trial after another: memory, descriptors, images and latencies.

python benchmarks/bench_soak.py --minutes 120 --json build/bench_soak.jsonl     # 720p15 in real time
python benchmarks/bench_soak.py --minutes 0 --json build/bench_soak.jsonl \\
    --page docs/results/details/reliability.md
python benchmarks/bench_soak.py --minutes 3 --lockstep --size 320 240 --every 1

All nodes run in processes of their own, and each trial is a session that attaches to them. What is measured
is written at once, so that an interrupted run keeps it. An observer compares the arrival of each snapshot of
the world with that of the verdicts on its images; the nodes count the images that they handle and those
that a newer one overtook (late); what no node accounts for is lost. The world stands still between two
trials, where these counts must agree.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

from beside_graph import spinning
from hold_results import write_page
from soak_cell import OBSERVER, Observer, Sampler, left_over
from soak_plot import plot
from soak_results import Counts, End, Setup, Trial, append, chapter, read

from embodied_iqa.base.errors import EmbodiedIqaError
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.environment import prepare_environment, use_sockets_only
from embodied_iqa.live.ros.graph_processes import running_nodes
from embodied_iqa.live.ros.trial_session import run_session
from embodied_iqa.runs.graph.node_table import nodes_of, resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.session_plan import TOUR_TASKS, SessionPlan
from embodied_iqa.runs.trial.command_start import CommandStart

_PLOT = "images/soak.svg"
_SETTLE_S, _MOST_SETTLE = 2.5, 8
"""Diagnostics arrive once a second, later from a busy machine."""
_MOST_FAILURES = 3
_SNAPSHOT, _EVENTS = "/sim/snapshot", "/trial/events"
_DROPPED = re.compile(r"(\d+) messages are not in the recording")


def soak(graph: GraphParameters, setup: Setup, every_s: float, results: Path | None) -> End:
    """Run trials until the time is over; return the end."""
    entries = nodes_of(graph)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        append(results, setup)
        with running_nodes(graph, entries, folder / "log", "parameters.yaml") as processes:
            held.callback(os.environ.update, dict(os.environ))
            use_sockets_only(os.environ)
            observer = held.enter_context(spinning(partial(Observer, len(setup.views))))
            sampler = Sampler(processes, [entry.name for entry in entries], observer, results)
            sampler.start(every_s)
            try:
                run_trials(sampler, graph, setup, folder)
            finally:
                sampler.close()
        end = End(sampler.at_s, *left_over(sampler))
        append(results, end)
    return end


def run_trials(sampler: Sampler, graph: GraphParameters, setup: Setup, folder: Path) -> None:
    """Run at least two trials: the counters start with the first."""
    failures = 0
    for number in count():
        scene = number % len(TOUR_TASKS)  # the same few scenes again: they differ in size
        task = TOUR_TASKS[scene]
        plan = SessionPlan((task,), scene, (parse_distortion(setup.distortion),), graph, attach=True)
        trial = run_trial(plan, folder, sampler)
        append(sampler.results, trial)
        failures = failures + 1 if trial.error else 0
        outcome = trial.error or f"{trial.recorded} images recorded"
        print(f"{trial.ended_s / 60:6.1f} min, {task}: {outcome}", flush=True)
        sampler.processes.check()
        if failures == _MOST_FAILURES or (number and trial.ended_s > 60.0 * setup.minutes):
            return


def run_trial(plan: SessionPlan, folder: Path, sampler: Sampler) -> Trial:
    """Run a trial, count its recording, and remove it."""
    began_s = sampler.at_s
    recorded = skipped = dropped = 0
    error = ""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        folders = plan.folders(Path(name))
        try:
            remarks = run_session(
                plan, folders, Path(name), lambda _number, _news: None, start=CommandStart()
            )
            dropped = sum(int(count) for count in _DROPPED.findall(" ".join(remarks)))
            recorded, skipped = _recorded(folders[0].recording)
        except EmbodiedIqaError as failure:
            error = str(failure)
    counts = settled_counts(sampler.observer.counts)
    rest = sampler.sample()
    return Trial(
        task=plan.tasks[0],
        began_s=began_s,
        ended_s=rest.at_s,
        counts=counts,
        descriptors=sum(process.descriptors for process in rest.processes if process.name != OBSERVER),
        segments=rest.segments,
        recorded=recorded,
        skipped=skipped,
        dropped=dropped,
        error=error,
    )


def settled_counts(counts: Callable[[], Counts]) -> Counts:
    """Return the counts once all diagnostics have arrived: they no longer change."""
    found = counts()
    for _ in range(_MOST_SETTLE):
        before = found
        time.sleep(_SETTLE_S)
        if (found := counts()) == before:
            break
    return found


def _recorded(path: Path) -> tuple[int, int]:
    """Return the images of a recording, and those missing of the snapshots since the first run."""
    with TrialReader(path) as reader:
        images = sum(info.messages for topic, info in reader.topics.items() if topic.endswith("/image_raw"))
        infos = [topic for topic in reader.topics if topic.endswith("/camera_info")]
        stamps: dict[str, set[int]] = {topic: set() for topic in (_SNAPSHOT, _EVENTS, *infos)}
        for message in reader.messages(list(stamps)):
            stamps[message.topic].add(ns_of(reader.decode(message).header.stamp))
    began_ns = min(stamps[_EVENTS] - {0}, default=0)
    due = {stamp for stamp in stamps[_SNAPSHOT] if stamp >= began_ns}
    return images, sum(len(due - stamps[topic]) for topic in infos)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--minutes", type=float, default=5.0, help="0: only the page is written")
    add(
        "--size",
        type=int,
        nargs=2,
        default=[1280, 720],
        metavar=("WIDTH", "HEIGHT"),
        help="of the images [px]",
    )
    add("--lockstep", action="store_true", help="the world waits for verdicts; no image is late")
    add("--distortion", default="19:5", metavar="ID:LEVEL", help="of the second run of each trial")
    add("--set", action="append", default=[], metavar="NODE.PARAMETER=VALUE", help="another parameter")
    add("--every", type=float, default=10.0, metavar="S", help="time between two samples")
    add("--json", type=Path, help="lines of JSON, appended; the page shows the last run")
    add("--page", type=Path, help="page whose chapter is written anew, with its plot")
    arguments = parser.parse_args()
    if arguments.minutes:
        _measure(arguments)
    if arguments.json is not None:
        found = read(arguments.json)
        print(chapter(found, ""))
        if arguments.page is not None:
            (arguments.page.parent / _PLOT).write_text(plot(found), encoding="utf-8")
            write_page(arguments.page, chapter(found, _PLOT), "bench_soak")
    return 0


def _measure(arguments: argparse.Namespace) -> None:
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
    width_px, height_px = arguments.size
    sizes = {"camera_node.width_px": width_px, "camera_node.height_px": height_px}
    overrides = sizes | {"sim_node.lockstep": arguments.lockstep} | overrides_of(arguments.set)
    prepare_environment()
    graph = resolve((), overrides)
    views = tuple(map(str, graph.camera_node.views))
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    words = (arguments.minutes, arguments.lockstep, arguments.distortion, width_px, height_px)
    print(soak(graph, Setup(*words, views, cores, load), arguments.every, arguments.json), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

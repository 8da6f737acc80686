"""`embodied-iqa evaluate manipulation`: a planner in the simulated cell, on clean and distorted images."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.gate_options import add_calibration, add_judge
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.cli.plan_options import (
    add_engine_options,
    add_levels,
    add_plan_options,
    at_least,
    engine_of,
    read_plan,
    seed_number,
)
from embodied_iqa.imaging.distortions import DistortionSpec, catalogue, parse_distortion, parse_levels
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.suites.cell_manipulation.planning.planner_options import (
    GateArm,
    LoopOptions,
    OnInvalid,
    PromptOptions,
)

if TYPE_CHECKING:
    from embodied_iqa.suites.cell_manipulation.episodes import Episode
    from embodied_iqa.suites.cell_manipulation.planning.planner_results import SubsetSummary
    from embodied_iqa.suites.cell_manipulation.planning.runner import RunPlan

_ALL: Final = "all"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("episodes", type=Path, metavar="EP", help="folder of `embodied-iqa manipulate make`")
    planner = "planner-oracle, -reader, -classical, -detector, -panel, -faulty, -blind; openai:URL#MODEL"
    add("--planner", required=True, metavar="SUBJECT", help=f"such as {planner}")
    add("--out", type=Path, required=True, metavar="RUN", help="new folder, or a run to continue")
    add("--subset", default=_ALL, metavar="NAMES", help=f"some of {','.join(Subset)} (default: all in EP)")
    add("--limit", type=at_least(1), metavar="N", help="at most N episodes of each task and subset")
    _add_prompt(parser)
    _add_arms(parser)
    add_engine_options(parser, "jobs in parallel")
    sampling = "of the planner (default 0); -1: none is sent, and its server samples as it does"
    add("--temperature", type=float, default=0.0, metavar="T", help=sampling)
    add("--fault-seed", type=seed_number, default=0, metavar="N", help="of planner-faulty (default 0)")
    add("--allow-network", action="store_true", help="consent to send images to a public API")
    add("--json", action="store_true", help="print the summaries as JSON")


def _add_prompt(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    switches = ("boxes", "multiview", "multistep", "visual_examples", "history", "language_only")
    add_plan_options(parser, PromptOptions, "shots", *switches, "coordinates", "detector", detector="MODEL")
    add_plan_options(parser, LoopOptions, "on_invalid")
    add("--resolution", type=int, default=500, metavar="PX", help="side of the images (default 500)")
    published = "as the published code: plans go on after invalid actions; an empty plan counts -1 errors"
    add("--as-published", action="store_true", help=published)
    add("--keep-images", action="store_true", help="keep the images that the planner gets")


def _add_arms(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    one = "distortion and level, such as 12:3; may be repeated"
    add("--distortion", action="append", default=[], metavar="ID:LEVEL", help=one)
    add("--distortions", metavar="IDS", help="distortions by number or name, or all; at each of --levels")
    add_levels(parser, "of --distortions", _ALL, is_set=False)
    add("--seed", type=seed_number, default=0, metavar="N", help="seed of the distortions (default 0)")
    gates = [str(item) for item in GateArm if item is not GateArm.OFF]
    add("--gate", metavar="GATES", help=f"also run each condition with gates, some of {','.join(gates)}")
    add_judge(add)
    add_calibration(add, "; needed with --gate")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing; return the exit code."""
    from embodied_iqa.pages.reports.manipulation.manipulation_report import write_manipulation_report
    from embodied_iqa.suites.cell_manipulation.planning.runner import run_benchmark

    plan = _plan(arguments)
    episodes = _episodes(arguments)
    engine = engine_of(arguments)
    with ProgressBars() as bars:
        summaries = run_benchmark(
            episodes, arguments.out, plan, engine, lambda done, total: bars.update("episodes", done, total)
        )
    page = write_manipulation_report(arguments.out)
    if arguments.json:
        from embodied_iqa.base.records import unstructure

        rows = [
            {"arm": arm, "subset": str(subset)} | unstructure(one) for (arm, subset), one in summaries.items()
        ]
        print_json(rows)
        return 0
    _print_summaries(summaries)
    print(f"report: {page}")
    next_command("manipulate", "errors", arguments.out)
    return 0


def _plan(arguments: argparse.Namespace) -> RunPlan:
    from embodied_iqa.models.subjects.reference import parse_planner
    from embodied_iqa.models.subjects.registry import PLANNER_OPTIONS
    from embodied_iqa.suites.cell_manipulation.planning.arms import arms_of
    from embodied_iqa.suites.cell_manipulation.planning.detecting import load_detector
    from embodied_iqa.suites.cell_manipulation.planning.runner import RunPlan

    prompt = read_plan(PromptOptions, arguments)
    load_detector(prompt.detector)  # a wrong name ends the run here
    invalid = OnInvalid.CONTINUE if arguments.as_published else arguments.on_invalid
    if not 64 <= arguments.resolution <= 1000:
        raise UsageError("wrong resolution", expected="64 to 1000 px", got=arguments.resolution)
    options = replace(
        PLANNER_OPTIONS,
        decoding=replace(
            PLANNER_OPTIONS.decoding, seed=arguments.fault_seed, temperature=arguments.temperature
        ),
        loading=replace(PLANNER_OPTIONS.loading, allow_network=arguments.allow_network),
    )
    gates = _gates(arguments.gate)
    if arguments.calibration is not None and not gates:
        raise UsageError("a calibration of no gate", expected="--gate hold,repair,ask-again or some of them")
    return RunPlan(
        parse_planner(arguments.planner),
        tuple(arms_of(_specs(arguments), gates)),
        LoopOptions(prompt, invalid, arguments.as_published),
        arguments.resolution,
        arguments.judge,
        arguments.calibration,
        options,
        arguments.keep_images,
    )


def _specs(arguments: argparse.Namespace) -> Iterator[DistortionSpec]:
    for word in arguments.distortion:
        yield parse_distortion(word, seed=arguments.seed)
    if arguments.distortions is None:
        if arguments.levels is not None:
            raise UsageError("levels of no distortion", expected="--distortions IDS or all with --levels")
        return
    words = arguments.distortions.split(",")
    names = [line.id for line in catalogue()] if words == [_ALL] else words
    for name in names:
        for level in parse_levels(arguments.levels or _ALL):
            yield parse_distortion(f"{name}:{level}", seed=arguments.seed)


def _gates(text: str | None) -> list[GateArm]:
    words = text.split(",") if text else []
    for word in words:
        if word not in set(map(str, GateArm)):
            raise UsageError("unknown gate", got=word, available=list(GateArm))
    return [GateArm(word) for word in words]


def _episodes(arguments: argparse.Namespace) -> list[Episode]:
    from embodied_iqa.suites.cell_manipulation.making import read_episodes

    found: list[Episode] = list(read_episodes(arguments.episodes))
    there = list(dict.fromkeys(one.subset for one in found))
    words = there if arguments.subset == _ALL else arguments.subset.split(",")
    for word in words:
        if word not in there:
            raise UsageError("no episodes of this subset", got=word, available=there)
    chosen = [one for one in found if one.subset in set(words)]
    if arguments.limit is None:
        return chosen
    counts: dict[tuple[Subset, str], int] = {}
    kept = []
    for one in chosen:
        key = one.subset, str(one.task)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= arguments.limit:
            kept.append(one)
    return kept


def _print_summaries(summaries: Mapping[tuple[str, Subset], SubsetSummary]) -> None:
    right = ("episodes", "success", "rate", "planner steps", "format errors")
    table = table_of("condition", "subset", *right, right=right)
    for (arm, subset), one in summaries.items():
        numbers = (str(one.total_num_tasks), str(one.num_success), f"{one.success_rate:.1%}")
        table.add_row(
            arm, str(subset), *numbers, f"{one.avg_planner_steps:.2f}", str(one.output_format_error)
        )
    console().print(table)

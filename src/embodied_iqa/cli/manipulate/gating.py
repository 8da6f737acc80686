"""`embodied-iqa manipulate fit`: fits the learned gate to the front camera and to what a detector loses."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import require_writable
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, next_command, own_command, print_json, table_of
from embodied_iqa.cli.parser import yaml_file
from embodied_iqa.cli.plan_options import add_plan_options, add_stride, add_workers, read_plan
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.imaging.distortions import catalogue
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import GateFile
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.fitting.split import split_scenes
from embodied_iqa.quality.gate.risk_control import Promise
from embodied_iqa.suites.cell_manipulation.making import read_episodes
from embodied_iqa.suites.cell_manipulation.planning.planner_options import CLASSICAL

_DISTORTIONS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    episodes = "folder of `manipulate make`, of another seed than what is evaluated"
    add("episodes", type=Path, metavar="EP", help=episodes)
    add("--out", type=yaml_file, required=True, metavar="FILE", help="YAML file to write; networks beside it")
    by = "classical (default), or panel:NAME and other vision models"
    add("--detector", default=CLASSICAL, metavar="MODEL", help=by)
    add_plan_options(parser, Promise, "risk", "confidence", risk="R", confidence="P")
    parser.set_defaults(risk=0.05)
    number = f"distortions of each image, at one random level each (default {_DISTORTIONS})"
    add("--distortions-each", type=int, default=_DISTORTIONS, metavar="N", help=number)
    add_stride(parser)
    add_plan_options(parser, FitPlan, "seed")
    add_workers(parser, "processes that look at images")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Draw, label, fit; print promise and check; return the exit code."""
    from embodied_iqa.quality.gate.fitting.fit import fit_source
    from embodied_iqa.suites.cell_manipulation.planning import gate_images as images
    from embodied_iqa.suites.cell_manipulation.planning.detecting import load_detector

    plan = _plan(arguments)
    require_writable(arguments.out)
    episodes = read_episodes(arguments.episodes)[:: arguments.stride]
    split_scenes([one.name for one in episodes], plan.promise, plan.seed)  # refuse too few before the work
    load_detector(arguments.detector)
    folder: Path = arguments.out.with_suffix("") / "images"
    stored = images.store_images(episodes, folder)
    options = images.LabelOptions(arguments.detector, arguments.distortions_each, plan.seed, plan.workers)
    source = images.PlannerSource(folder, stored, options)
    known = GateFile(arguments.out, ())
    fitted = fit_source(source, plan, known)
    if arguments.json:
        print_json({"output": str(arguments.out), **unstructure(fitted)})
        return 0
    print(fitted.promise)
    table = table_of("on held-out episodes", "value", right=("value",))
    for name, value in fitted.check.items():
        table.add_row(name.replace("_", " "), "-" if value is None else f"{value:g}")
    console().print(table)
    print(fitted.unseen_in_words)
    print(f"note: {fitted.advice}" if fitted.advice else arguments.out)
    gate = ("--judge", "learned", "--gate", "hold,repair,ask-again", "--calibration", arguments.out)
    next_command("evaluate", "manipulation", "EP", "--planner", "P", "--out", "RUN", *gate)
    return 0


def _plan(arguments: argparse.Namespace) -> FitPlan:
    most = len(catalogue())
    if not 1 <= arguments.distortions_each <= most:
        raise UsageError("wrong --distortions-each", expected=f"1 to {most}", got=arguments.distortions_each)
    require_torch()
    return read_plan(
        FitPlan,
        arguments,
        view=View.TOP,
        policy=f"a planner that recognises by {arguments.detector}",
        promise=read_plan(Promise, arguments),
        command=own_command(),
    )

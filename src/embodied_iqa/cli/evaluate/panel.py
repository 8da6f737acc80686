"""`embodied-iqa evaluate panel`: scores of the embedded panel on unseen scenes, and its failures."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.cli.plan_options import add_plan_options, at_least, read_plan
from embodied_iqa.imaging.distortions.catalogue import catalogue, entry
from embodied_iqa.models.panel.panel_members import VLA_NAMES, VLM_NAMES, EvaluationPlan, members_in
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS

if TYPE_CHECKING:
    from embodied_iqa.models.panel.evaluation.evaluate import PanelEvaluation


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add_plan_options(parser, EvaluationPlan, "scenes", "seed", "workers")
    grid = "how many of the scenes are also distorted (default all)"
    add("--grid-scenes", type=at_least(0), metavar="N", help=grid)
    names = "distortions by number or name; all (default) or none"
    add("--distortions", default="all", metavar="IDS", help=names)
    add("--members", metavar="NAMES", help="members by name (default all)")
    models = "folder of another panel (default that of the package)"
    add("--models-dir", type=Path, metavar="DIR", help=models)
    page = "write a Markdown page here, with its images in a folder beside it"
    add("--out", type=Path, metavar="FILE", help=page)
    add("--cards", action="store_true", help="write the results into the cards in --models-dir")
    add("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate."""
    from embodied_iqa.models.panel.evaluation.evaluate import evaluate_panel

    if arguments.cards and arguments.models_dir is None:
        raise UsageError("--cards writes into the folder of the panel", expected="--models-dir DIR")
    plan = _plan(arguments)
    with ProgressBars(transient=False) as bars:
        evaluation = evaluate_panel(plan, bars)
    if arguments.cards:
        from embodied_iqa.pages.reports.panel.cards import update_cards

        update_cards(evaluation)
    if arguments.out is not None:
        from embodied_iqa.pages.reports.panel.panel_report import write_report

        write_report(evaluation, arguments.out, arguments.out.parent / "images")
    if arguments.json:
        print_json(_record(evaluation))
    else:
        _print_tables(evaluation)
        next_command("build", "--panel", ",".join((*plan.vlms, *plan.vlas)), "--out", "DB")
    return 0


def _plan(arguments: argparse.Namespace) -> EvaluationPlan:
    grid = arguments.scenes if arguments.grid_scenes is None else arguments.grid_scenes
    if grid > arguments.scenes:
        raise UsageError("wrong --grid-scenes", expected=f"up to {arguments.scenes}, the scenes", got=grid)
    models = arguments.models_dir or MODELS
    there = members_in(models)
    wanted = tuple(arguments.members.split(",")) if arguments.members else there
    for name in wanted:
        if name not in there:
            raise UsageError("unknown member of the panel", got=name, available=there)
    words = [] if arguments.distortions == "none" else arguments.distortions.split(",")
    numbers = [line.id for line in catalogue()] if words == ["all"] else [entry(word).id for word in words]
    vlas, vlms = (tuple(name for name in names if name in wanted) for names in (VLA_NAMES, VLM_NAMES))
    given = {"models": models, "grid_scenes": grid, "distortions": tuple(numbers)}
    return read_plan(EvaluationPlan, arguments, vlas=vlas, vlms=vlms, **given)


def _record(evaluation: PanelEvaluation) -> dict[str, object]:
    from embodied_iqa.pages.reports.panel import summary

    plan = evaluation.plan
    record: dict[str, object] = {
        "scenes": plan.scenes,
        "grid_scenes": plan.grid_scenes,
        "seed": plan.seed,
        "vlas": [asdict(row) for row in summary.vla_rows(evaluation.acted)],
        "by_verb": {
            name: {
                verb: asdict(share)
                for verb, share in summary.success_by(evaluation.acted, member=name).items()
            }
            for name in plan.vlas
        },
        "vlms": [asdict(row) for row in summary.vlm_rows(evaluation.answered)],
        "by_rank": [asdict(row) for row in summary.rank_rows(evaluation.ranked)],
        "graded": [asdict(row) for row in summary.graded_responses(evaluation)],
    }
    if evaluation.acted:
        share, pairs = summary.criterion_check(evaluation)
        record["criterion_agrees_with_physics"] = asdict(share) | {"pairs": pairs}
    if evaluation.distorted:
        found = summary.agreement(evaluation)
        record["agreement"] = {"members": found.members, "over_all": _plain(found.over_all)}
    return record


def _plain(values: object) -> object:
    return [
        [None if np.isnan(value) else round(float(value), 4) for value in row] for row in np.asarray(values)
    ]


def _print_tables(evaluation: PanelEvaluation) -> None:
    from embodied_iqa.pages.reports.panel import summary

    if evaluation.acted:
        table = table_of("VLA", "success (physics)", "mean over verbs", "geometric", "median mm")
        for row in summary.vla_rows(evaluation.acted):
            numbers = (str(row.success), f"{row.verb_mean:.1%}", str(row.geometric), f"{row.median_mm:.1f}")
            table.add_row(row.member, *numbers)
        console().print(table)
    if evaluation.answered:
        table = table_of("VLM", "BLEU", "identical to the truth", "changes with the image")
        for answer in summary.vlm_rows(evaluation.answered):
            table.add_row(answer.member, f"{answer.bleu:.3f}", str(answer.exact), str(answer.changed))
        console().print(table)
    responses = summary.graded_responses(evaluation)
    if responses:
        graded = sum(response.graded for response in responses)
        print(f"graded response: {graded} of {len(responses)} types")

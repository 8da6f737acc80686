"""`embodied-iqa evaluate`: how well what is learned does on unseen scenes, and where it fails."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.progress import ProgressBars

if TYPE_CHECKING:
    from embodied_iqa.panel.evaluation.evaluate import EvaluationPlan, PanelEvaluation

__all__ = ["configure", "run"]

_SEED = 4_000_037


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    panel = actions.add_parser("panel", help="the embedded panel: clean, and under the distortions")
    panel.add_argument("--scenes", type=int, default=100, help="unseen scenes, clean (default: 100)")
    panel.add_argument(
        "--grid-scenes", type=int, metavar="N", help="how many of them are distorted too (default: all)"
    )
    panel.add_argument(
        "--distortions", default="all", metavar="A,B", help="numbers or names; all (default) or none"
    )
    panel.add_argument("--members", metavar="A,B", help="names of members (default: all)")
    panel.add_argument("--models", type=Path, metavar="DIR", help="another panel (default: the shipped one)")
    panel.add_argument("--seed", type=int, default=_SEED, help=f"of the scenes (default: {_SEED})")
    panel.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    panel.add_argument("--out", type=Path, metavar="FILE", help="Markdown page to write, pictures beside it")
    panel.add_argument("--cards", action="store_true", help="write the results into the members' cards")
    panel.add_argument("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate."""
    from embodied_iqa.panel.evaluation.evaluate import evaluate_panel  # noqa: PLC0415
    from embodied_iqa.reports.panel.report import write_report  # noqa: PLC0415 - keeps --help fast

    plan = _plan(arguments)
    with ProgressBars(transient=False) as bars:
        evaluation = evaluate_panel(plan, bars.update)
    if arguments.cards:
        from embodied_iqa.reports.panel.cards import update_cards  # noqa: PLC0415 - as above

        update_cards(evaluation)
    if arguments.out is not None:
        write_report(evaluation, arguments.out, arguments.out.parent / "pictures")
    if arguments.json:
        print(json.dumps(_record(evaluation), indent=2))
    else:
        _print_tables(evaluation)
    return 0


def _plan(arguments: argparse.Namespace) -> EvaluationPlan:
    from embodied_iqa.distortions.catalogue import catalogue, entry  # noqa: PLC0415 - as above
    from embodied_iqa.errors import UsageError  # noqa: PLC0415
    from embodied_iqa.panel.evaluation.evaluate import EvaluationPlan  # noqa: PLC0415
    from embodied_iqa.subjects.backends.panel.members import MODELS, VLA_NAMES, VLM_NAMES, names_in  # noqa: PLC0415

    grid = arguments.scenes if arguments.grid_scenes is None else arguments.grid_scenes
    if (
        arguments.scenes < 1
        or not 0 <= grid <= arguments.scenes
        or min(arguments.seed, arguments.workers - 1) < 0
    ):
        raise UsageError(
            "wrong numbers", expected="scenes and workers from 1, grid scenes up to scenes, seed from 0"
        )
    models = arguments.models or MODELS
    there = names_in(models)
    wanted = tuple(arguments.members.split(",")) if arguments.members else there
    for name in wanted:
        if name not in there:
            raise UsageError("unknown member of the panel", got=name, available=there)
    words = [] if arguments.distortions == "none" else arguments.distortions.split(",")
    numbers = [line.id for line in catalogue()] if words == ["all"] else [entry(word).id for word in words]
    return EvaluationPlan(
        models,
        tuple(name for name in VLA_NAMES if name in wanted),
        tuple(name for name in VLM_NAMES if name in wanted),
        arguments.scenes,
        grid,
        tuple(numbers),
        arguments.seed,
        arguments.workers,
    )


def _record(evaluation: PanelEvaluation) -> dict[str, object]:
    from dataclasses import asdict  # noqa: PLC0415 - as above

    from embodied_iqa.reports.panel.summary import (  # noqa: PLC0415
        agreement,
        criterion_check,
        graded_responses,
        rank_rows,
        success_by,
        vla_rows,
        vlm_rows,
    )

    plan = evaluation.plan
    record: dict[str, object] = {
        "scenes": plan.scenes,
        "grid_scenes": plan.grid_scenes,
        "seed": plan.seed,
        "vlas": [asdict(row) for row in vla_rows(evaluation.acted)],
        "by_verb": {
            name: {verb: asdict(share) for verb, share in success_by(evaluation.acted, member=name).items()}
            for name in plan.vlas
        },
        "vlms": [asdict(row) for row in vlm_rows(evaluation.answered)],
        "by_rank": [asdict(row) for row in rank_rows(evaluation.ranked)],
        "graded": [asdict(row) for row in graded_responses(evaluation)],
    }  # fmt: skip
    if evaluation.acted:
        share, pairs = criterion_check(evaluation)
        record["criterion_agrees_with_physics"] = asdict(share) | {"pairs": pairs}
    if evaluation.distorted:
        found = agreement(evaluation)
        record["agreement"] = {"members": found.members, "over_all": _plain(found.over_all)}
    return record


def _plain(values: object) -> object:
    import numpy as np  # noqa: PLC0415 - as above

    return [
        [None if np.isnan(value) else round(float(value), 4) for value in row] for row in np.asarray(values)
    ]


def _print_tables(evaluation: PanelEvaluation) -> None:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    from embodied_iqa.reports.panel.summary import graded_responses, vla_rows, vlm_rows  # noqa: PLC0415

    console = Console()
    if evaluation.acted:
        table = Table("VLA", "success (physics)", "mean over verbs", "geometric", "median mm", box=None)
        for row in vla_rows(evaluation.acted):
            numbers = (str(row.success), f"{row.verb_mean:.1%}", str(row.geometric), f"{row.median_mm:.1f}")
            table.add_row(row.member, *numbers)
        console.print(table)
    if evaluation.answered:
        table = Table("VLM", "BLEU", "right to the word", "changes with the picture", box=None)
        for answer in vlm_rows(evaluation.answered):
            table.add_row(answer.member, f"{answer.bleu:.3f}", str(answer.exact), str(answer.changed))
        console.print(table)
    responses = graded_responses(evaluation)
    if responses:
        graded = sum(response.graded for response in responses)
        print(f"graded response: {graded} of {len(responses)} types")

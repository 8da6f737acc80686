"""`embodied-iqa train`: training of the embedded panels from scratch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.cli.plan_options import at_least, read_plan
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.models.panel.panel_members import RECIPES, adapted, recipe_of

_SHOWN = ("geometric_success", "median_position_mm", "bleu", "exact")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    what = "the embedded panel of learned VLAs and VLMs, on simulated scenes"
    add = actions.add_parser("panel", help=what).add_argument
    quick = "fewer scenes and epochs: within 15 minutes; scores are worse"
    add("--quick", action="store_true", help=quick)
    add("--scenes", type=int, help="number of training scenes (default: as in each member's recipe)")
    epochs = "epochs with plain tasks; the number of those with harder tasks changes in proportion"
    add("--epochs", type=int, help=epochs)
    what = "the embedded panel of classifiers, detectors and segmenters, on scenes"
    add = actions.add_parser("vision-panel", help=what).add_argument
    quick = "few images and two epochs, to try it out; predicts poorly"
    add("--quick", action="store_true", help=quick)
    add("--samples", type=int, help="number of training images (default: as in each member's recipe)")
    for training in actions.choices.values():
        add = training.add_argument
        kept = "folder of samples, checkpoints, curves and models"
        add("--out", type=Path, required=True, metavar="DIR", help=kept)
        add("--members", metavar="A,B", help="members by name (default: all)")
        add("--seed", type=at_least(0), default=1, help="seed of scenes and weights (default: 1)")
        add("--workers", type=at_least(1), default=2, help="number of processes (default: 2)")
        add("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train, or continue an interrupted training.

    Raises:
        UserError: A member is unknown, or the folder holds another training or cannot be written.
    """
    require_torch()
    names = [name.strip() for name in arguments.members.split(",")] if arguments.members else []
    (_train_vision_panel if arguments.what == "vision-panel" else _train_panel)(arguments, names)
    return 0


def _train_panel(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    from embodied_iqa.models.panel.training import train_panel as training

    recipes = [adapted(recipe_of(name), arguments.scenes, arguments.epochs) for name in names or RECIPES]
    plan = read_plan(training.PanelPlan, arguments, members=tuple(recipe.name for recipe in recipes))
    with ProgressBars(transient=False) as bars:
        cards = training.train_panel(plan, bars)
    rows = [{"name": card.name, "role": card.role, **card.results} for card in cards]
    if not _printed(arguments, plan.models, rows):
        for card in cards:
            shown = [name for name in _SHOWN if name in card.results]
            results = ", ".join(f"{name.replace('_', ' ')} {card.results[name]}" for name in shown)
            print(f"{card.name}: {results}")
        print(f"models: {plan.models}")
        if plan.quick:
            print("quick training: scores are worse than those of the panel in the package")
        next_command("evaluate", "panel", "--models", plan.models)


def _train_vision_panel(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    from embodied_iqa.models.vision.training import train_vision as training
    from embodied_iqa.models.vision.training.vision_members import recipes_of

    recipes_of(tuple(names), images=arguments.samples)
    plan = read_plan(training.VisionPlan, arguments, members=tuple(names), images=arguments.samples)
    with ProgressBars(transient=False) as bars:
        cards = training.train_vision_panel(plan, bars)
    rows = [{"name": card.name, "task": card.task, **card.performance} for card in cards]
    if not _printed(arguments, plan.models, rows):
        table = table_of("name", "task", "performance", "95 %", right=("performance",))
        for card in cards:
            main, low, high = (f"{card.performance[name]:.3f}" for name in ("main", "low", "high"))
            table.add_row(card.name, card.task, main, f"{low} to {high}")
        console().print(table)
        print(f"models: {plan.models}")
        next_command("subjects", "vision", f"panel:{plan.out}")


def _printed(arguments: argparse.Namespace, models: Path, rows: Sequence[dict[str, Any]]) -> bool:
    """Print the results as JSON, where that is wanted; return whether it is."""
    if arguments.json:
        print_json({"models": str(models), "quick": arguments.quick, "members": rows})
    return bool(arguments.json)

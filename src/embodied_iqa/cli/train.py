"""`embodied-iqa train`: training of the embedded panels from scratch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.cli.plan_options import add_plan_options, read_plan
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.models.panel.panel_members import RECIPES, PanelPlan, adapted, recipe_of
from embodied_iqa.models.vision.training.vision_members import VisionPlan, recipes_of

_OPTIONS = ("out", "quick", "seed", "workers")
_SHOWN = ("success", "right_waypoint", "geometric_success", "median_position_mm", "bleu", "exact")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    what = "the embedded panel of learned VLAs and VLMs, on simulated scenes"
    panel = actions.add_parser("panel", help=what)
    add_plan_options(panel, PanelPlan, *_OPTIONS, "scenes", "epochs", out="DIR")
    what = "the embedded panel of classifiers, detectors and segmenters, on scenes"
    vision = actions.add_parser("vision-panel", help=what)
    add_plan_options(vision, VisionPlan, *_OPTIONS, "images as samples", out="DIR")
    for training in actions.choices.values():
        add = training.add_argument
        add("--members", metavar="NAMES", help="members by name (default all)")
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
    plan = read_plan(PanelPlan, arguments, members=tuple(recipe.name for recipe in recipes))
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
        next_command("evaluate", "panel", "--models-dir", plan.models)


def _train_vision_panel(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    from embodied_iqa.models.vision.training import train_vision as training

    recipes_of(names)
    plan = read_plan(VisionPlan, arguments, members=tuple(names))
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

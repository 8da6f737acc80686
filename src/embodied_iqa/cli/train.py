"""`embodied-iqa train`: training of the embedded panels from scratch."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli import train_vision
from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.cli.plan_options import at_least, read_plan
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.models.panel.panel_members import RECIPES, adapted, recipe_of

if TYPE_CHECKING:
    from embodied_iqa.models.panel.training.train_panel import PanelPlan
    from embodied_iqa.models.subjects.model_card import ModelCard


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    panel = actions.add_parser(
        "panel", help="the embedded panel of learned VLAs and VLMs, on simulated scenes"
    )
    panel.add_argument(
        "--quick", action="store_true", help="fewer scenes and epochs: within 15 minutes; scores are worse"
    )
    panel.add_argument(
        "--scenes", type=int, help="number of training scenes (default: as in each member's recipe)"
    )
    panel.add_argument(
        "--epochs",
        type=int,
        help="epochs with plain tasks; the number of those with harder tasks changes in proportion",
    )
    train_vision.configure(
        actions.add_parser(
            "vision-panel", help="the embedded panel of classifiers, detectors and segmenters, on scenes"
        )
    )
    kept = "folder of samples, checkpoints, curves and models"
    for training in actions.choices.values():
        training.add_argument("--out", type=Path, required=True, metavar="DIR", help=kept)
        training.add_argument("--members", metavar="A,B", help="members by name (default: all)")
        training.add_argument(
            "--seed", type=at_least(0), default=1, help="seed of scenes and weights (default: 1)"
        )
        training.add_argument(
            "--workers", type=at_least(1), default=2, help="number of processes (default: 2)"
        )
        training.add_argument("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    require_torch()
    if arguments.what == "vision-panel":
        return train_vision.run(arguments)
    from embodied_iqa.models.panel.training import train_panel as training

    names = arguments.members.split(",") if arguments.members else list(RECIPES)
    recipes = [adapted(recipe_of(name.strip()), arguments.scenes, arguments.epochs) for name in names]
    plan = read_plan(training.PanelPlan, arguments, members=tuple(recipe.name for recipe in recipes))
    with ProgressBars(transient=False) as bars:
        cards = training.train_panel(plan, bars)
    _print_results(plan, cards, as_json=arguments.json)
    return 0


def _print_results(plan: PanelPlan, cards: list[ModelCard], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": card.name, "role": card.role, **card.results} for card in cards]
        print_json({"models": str(plan.models), "quick": plan.quick, "members": rows})
        return
    for card in cards:
        print(f"{card.name}: {_result_text(card.results)}")
    print(f"models: {plan.models}")
    if plan.quick:
        print("quick training: scores are worse than those of the panel in the package")
    next_command("evaluate", "panel", "--models", plan.models)


def _result_text(results: dict[str, float | str]) -> str:
    shown = ("geometric_success", "median_position_mm", "bleu", "exact")
    return ", ".join(f"{name.replace('_', ' ')} {results[name]}" for name in shown if name in results)

"""`embodied-iqa train`: makes what is learned again, from nothing."""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.progress import ProgressBars

if TYPE_CHECKING:
    from embodied_iqa.panel.training.train_panel import PanelPlan
    from embodied_iqa.subjects.model_card import ModelCard

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    panel = actions.add_parser(
        "panel", help="the embedded panel of learned VLAs and VLMs, from scenes that the simulator draws"
    )
    panel.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="scenes, checkpoints, curves, models"
    )
    panel.add_argument(
        "--quick", action="store_true", help="a small panel within 15 minutes; scores are worse"
    )
    panel.add_argument("--members", metavar="A,B", help="names of members (default: all)")
    panel.add_argument("--scenes", type=int, help="training scenes (default: as in each member's recipe)")
    panel.add_argument(
        "--epochs",
        type=int,
        help="times that each scene is seen with plain tasks; those with harder ones stay in proportion",
    )
    panel.add_argument("--seed", type=int, default=1, help="of scenes and weights (default: 1)")
    panel.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    panel.add_argument("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    from embodied_iqa.errors import MissingDependencyError, UsageError  # noqa: PLC0415 - keeps --help fast

    if arguments.workers < 1 or arguments.seed < 0:
        raise UsageError("wrong number of workers or seed", expected="workers from 1, seed from 0")
    if find_spec("torch") is None:
        raise MissingDependencyError(
            "training needs torch", expected="pip install -r requirements/models.txt"
        )
    from embodied_iqa.panel.training.recipes import RECIPES, adapted, recipe_of  # noqa: PLC0415 - as above
    from embodied_iqa.panel.training.train_panel import PanelPlan, train_panel  # noqa: PLC0415

    names = arguments.members.split(",") if arguments.members else list(RECIPES)
    recipes = [adapted(recipe_of(name.strip()), arguments.scenes, arguments.epochs) for name in names]
    members = tuple(recipe.name for recipe in recipes)
    plan = PanelPlan(
        members,
        arguments.out,
        arguments.seed,
        arguments.quick,
        arguments.workers,
        arguments.scenes,
        arguments.epochs,
    )
    with ProgressBars(transient=False) as bars:
        cards = train_panel(plan, lambda news: bars.update(news.stage, news.done, news.total, note=news.note))
    _print_results(plan, cards, as_json=arguments.json)
    return 0


def _print_results(plan: PanelPlan, cards: list[ModelCard], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": card.name, "role": card.role, **card.results} for card in cards]
        print(json.dumps({"models": str(plan.models), "quick": plan.quick, "members": rows}, indent=2))
        return
    for card in cards:
        print(f"{card.name}: {_in_words(card.results)}")
    print(f"in {plan.models}; embodied-iqa evaluate panel --models {plan.models} has physics judge them")
    if plan.quick:
        print("quick training: expect worse scores than those of the panel that ships with the package")


def _in_words(results: dict[str, float | str]) -> str:
    shown = ("geometric_success", "median_position_mm", "bleu", "exact")
    return ", ".join(f"{name.replace('_', ' ')} {results[name]}" for name in shown if name in results)

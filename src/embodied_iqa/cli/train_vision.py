"""`embodied-iqa train vision-panel`: training of the embedded vision panel from scratch."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.cli.plan_options import read_plan
from embodied_iqa.models.vision.training.vision_members import recipes_of

if TYPE_CHECKING:
    from embodied_iqa.models.vision.backends.panel_card import VisionCard
    from embodied_iqa.models.vision.training.train_vision import VisionPlan


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that differ from those of other trainings."""
    parser.add_argument(
        "--quick", action="store_true", help="few images and two epochs, to try it out; predicts poorly"
    )
    parser.add_argument(
        "--samples", type=int, help="number of training images (default: as in each member's recipe)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, or continue an interrupted training.

    Raises:
        UserError: A member is unknown, or the folder holds another training or cannot be written.
    """
    from embodied_iqa.models.vision.training import train_vision as training

    names = tuple(name.strip() for name in arguments.members.split(",")) if arguments.members else ()
    recipes_of(names, images=arguments.samples)
    plan = read_plan(training.VisionPlan, arguments, members=names, images=arguments.samples)
    with ProgressBars(transient=False) as bars:
        cards = training.train_vision_panel(plan, bars)
    _print_results(plan, cards, as_json=arguments.json)
    return 0


def _print_results(plan: VisionPlan, cards: list[VisionCard], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": card.name, "task": card.task, **card.performance} for card in cards]
        print_json({"models": str(plan.models), "quick": plan.quick, "members": rows})
        return
    table = table_of("name", "task", "performance", "95 %", right=("performance",))
    for card in cards:
        found = card.performance
        table.add_row(
            card.name, card.task, f"{found['main']:.3f}", f"{found['low']:.3f} to {found['high']:.3f}"
        )
    console().print(table)
    print(f"models: {plan.models}")
    next_command("subjects", "vision", f"panel:{plan.out}")

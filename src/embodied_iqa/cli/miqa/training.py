"""`embodied-iqa miqa train`: trains a metric on the training references of a database; resumable."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.records import Plain
from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.cli.plan_options import add_workers, at_least, seed_number
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.pages.reports.kit.formatting import interval_words
from embodied_iqa.quality.metrics.learned.card import MetricCard, load_metric_card, save_metric_card
from embodied_iqa.quality.metrics.training.miqa_recipes import with_region_layer
from embodied_iqa.quality.metrics.training.recipes import MetricRecipe, recipe_by_name
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.training_rows import (
    TARGET,
    held_out_set,
    parse_target,
    references_digest,
    training_set,
)

if TYPE_CHECKING:
    from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("database", type=Path, metavar="MDB", help="database of `miqa build`; nothing is written to it")
    models = "ra-miqa, ra-miqa-small (default), its ablation or a baseline; see docs/miqa.md"
    add("--recipe", default="ra-miqa-small", metavar="NAME", help=models)
    add("--vision-task", default="cls", metavar="NAME", help="of the labels: cls (default), det or ins")
    label = "composite (default), consistency or accuracy"
    add("--label", default="composite", metavar="NAME", help=label)
    add("--out", type=Path, required=True, metavar="DIR", help="new folder, or a training to continue")
    layer = "block of the region encoder whose tokens are averaged: 1, 2, ..., last or none (default last)"
    add("--region-layer", metavar="N", help=layer)
    add("--weights", type=Path, metavar="FILE", help="backbone to begin with (safetensors, names of timm)")
    region = "region encoder (safetensors; default: one is trained on rendered scenes)"
    add("--region-weights", type=Path, metavar="FILE", help=region)
    add("--epochs", type=at_least(1), metavar="N", help="at most (default: as in the recipe)")
    images = "of each reference, drawn by the seed; 0 for all (default: as in the recipe)"
    add("--images-each", type=at_least(0), metavar="N", help=images)
    add("--seed", type=seed_number, default=0, metavar="N", help="of everything random (default 0)")
    add_workers(parser)
    add("--json", action="store_true", help="print the card as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train, test on the held-out references, print the results; return the exit code."""
    recipe = recipe_by_name(arguments.recipe)
    if arguments.region_layer is not None:
        recipe = with_region_layer(recipe, arguments.region_layer)
    if arguments.epochs is not None:
        recipe = replace(recipe, epochs=arguments.epochs, steps=0)
    if arguments.images_each is not None:
        recipe = replace(recipe, pictures_each=arguments.images_each)
    require_torch()
    from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights

    starting = StartingWeights(arguments.weights, arguments.region_weights)
    target = f"{TARGET}{arguments.vision_task}:{arguments.label}"
    card = train_on_labels(recipe, target, arguments, starting)
    print_card(card, arguments.out, as_json=arguments.json)
    if not arguments.json:
        next_command("evaluate", "miqa", arguments.out, arguments.database)
    return 0


def train_on_labels(
    recipe: MetricRecipe, target: str, arguments: argparse.Namespace, starting: StartingWeights | None = None
) -> MetricCard:
    """Train a metric on labels of machine vision, and test it on the held-out references.

    Args:
        recipe: How it is trained.
        target: ``miqa:TASK:LABEL``.
        arguments: With `database`, `out`, `seed` and `workers`.
        starting: Weights to begin with.

    Raises:
        UsageError: Unknown task or label.
        UserError: The database has no such labels, or the folder belongs to another training.
    """
    from embodied_iqa.quality.metrics.training.held_out import measure_held_out
    from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining
    from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights

    task, label = parse_target(target)
    database, out = MiqaDatabase(arguments.database), arguments.out
    command = f"embodied-iqa {shlex.join(sys.argv[1:])}"
    weights = starting or StartingWeights()
    training = RecipeTraining(recipe, arguments.workers, f"{TARGET}{task}:{label}", command, weights)
    training.train(training_set(database, task, label), out, arguments.seed)
    card = load_metric_card(out)
    if card.results:
        return card
    manifest = database.manifest(task)
    origin: dict[str, Plain] = {
        "name": database.path.resolve().name,
        "source": manifest.source,
        "seed": manifest.seed,
        "share": manifest.share,
        "models": len(manifest.models),
        "training_references": references_digest(database, task),
    }
    save_metric_card(replace(card, database=origin), out)
    held_out = held_out_set(database, task, label)
    return measure_held_out(out, recipe, held_out, seed=arguments.seed, workers=arguments.workers)


def print_card(card: MetricCard, out: Path, *, as_json: bool) -> None:
    """Print the results of a training."""
    if as_json:
        print_json(card)
        return
    found = card.results
    ends = interval_words(found.get("srcc_low"), found.get("srcc_high"), int(found["references"]))
    print(
        f"{card.name} on {card.target}, {found['references']:.0f} held-out references: "
        f"SRCC {found.get('srcc', float('nan')):.3f} ({ends}), "
        f"PLCC of the predicted label {found.get('label_plcc', float('nan')):.3f}"
    )
    print(f"metric: trained:{out}")

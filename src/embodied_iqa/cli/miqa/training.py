"""`embodied-iqa miqa train`: trains a metric on the training references of a database; resumable."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.records import Plain
from embodied_iqa.cli.output import next_command, own_command, print_json, print_progress
from embodied_iqa.cli.plan_options import add_plan_options, read_plan
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.pages.reports.kit.formatting import interval_words, plural
from embodied_iqa.quality.metrics.learned.card import (
    CARD_FILE,
    MetricCard,
    load_metric_card,
    save_metric_card,
)
from embodied_iqa.quality.metrics.training.recipes import MetricRecipe
from embodied_iqa.quality.metrics.training.training_plan import TrainingPlan
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.training_rows import (
    TARGET,
    LabelTraining,
    held_out_set,
    parse_target,
    references_digest,
    training_set,
)

if TYPE_CHECKING:
    from embodied_iqa.quality.metrics.trainable import TrainingSet
    from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("database", type=Path, metavar="MDB", help="database of `miqa build`; nothing is written to it")
    metavars = {"vision_task": "NAME", "label": "NAME", "weights": "FILE", "region_weights": "FILE"}
    add_plan_options(parser, LabelTraining, "recipe", "vision_task", "label", **metavars)
    add_plan_options(parser, TrainingPlan, "out", out="DIR")
    changes = ("region_layer", "weights", "region_weights", "epochs", "images_each")
    add_plan_options(parser, LabelTraining, *changes, **metavars, region_layer="N")
    add_plan_options(parser, TrainingPlan, "seed", "workers")
    add("--json", action="store_true", help="print the card as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train, test on the held-out references, print the results; return the exit code."""
    labels = read_plan(LabelTraining, arguments)
    plan, recipe = read_plan(TrainingPlan, arguments, target=labels.target), labels.changed_recipe()
    require_torch()
    from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights

    card = train_on_labels(recipe, plan, StartingWeights(labels.weights, labels.region_weights))
    print_card(card, plan.out, as_json=arguments.json)
    if not arguments.json:
        next_command("evaluate", "miqa", plan.out, plan.database)
    return 0


def train_on_labels(
    recipe: MetricRecipe, plan: TrainingPlan, starting: StartingWeights | None = None
) -> MetricCard:
    """Train a metric on labels of machine vision, and test it on the held-out references.

    Args:
        recipe: How it is trained.
        plan: With the target ``miqa:TASK:LABEL``.
        starting: Weights to begin with.

    Raises:
        UsageError: Unknown task or label.
        UserError: The database has no such labels, or the folder belongs to another training.
    """
    from embodied_iqa.quality.metrics.training.held_out import measure_held_out
    from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining
    from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights

    task, label = parse_target(plan.target)
    database, out = MiqaDatabase(plan.database), plan.out
    command = own_command()
    weights = starting or StartingWeights()
    training = RecipeTraining(recipe, plan.workers, f"{TARGET}{task}:{label}", command, weights)
    samples = training_set(database, task, label)
    weights.record()  # a file that is missing ends the command before it says that it begins
    if weights.region is not None and (recipe.network is None or recipe.network.region is None):
        raise UsageError("weights of a region encoder", expected="a metric with a region token")
    if not (out / CARD_FILE).is_file():
        print_progress(_beginning(recipe, plan.seed, samples, weights))
    training.train(samples, out, plan.seed)
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
    return measure_held_out(out, recipe, held_out, seed=plan.seed, workers=plan.workers)


def _beginning(recipe: MetricRecipe, seed: int, samples: TrainingSet, weights: StartingWeights) -> str:
    """Return what a training does, before it says nothing for a while."""
    from embodied_iqa.quality.metrics.training.miqa_recipes import region_plan

    count, region = len(samples.of_each(recipe.pictures_each, seed).pair_ids), region_plan(recipe, seed)
    epochs = plural(recipe.of_size(count).epochs, "epoch")
    words = f"trains {recipe.name} on {plural(count, 'image')}, {epochs} at most"
    if region is None or weights.region is not None:
        return words
    return (
        f"{words}; makes the region encoder first, {plural(region.epochs, 'epoch')} on rendered scenes, "
        "9 to 30 min of processor time where measured (--region-weights FILE takes one that exists)"
    )


def print_card(card: MetricCard, out: Path, *, as_json: bool) -> None:
    """Print the results of a training."""
    if as_json:
        print_json(card)
        return
    print(held_out_words(card))
    print(f"metric: trained:{out}")


def held_out_words(card: MetricCard) -> str:
    """Return what a trained metric reached on references that it was not trained on."""
    found = card.results
    ends = interval_words(found.get("srcc_low"), found.get("srcc_high"), int(found["references"]))
    return (
        f"{card.name} on {card.target}, {found['references']:.0f} held-out references: "
        f"SRCC {found.get('srcc', float('nan')):.3f} ({ends}), "
        f"PLCC of the predicted label {found.get('label_plcc', float('nan')):.3f}"
    )

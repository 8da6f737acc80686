"""`embodied-iqa metrics train`: trains a metric on the scores of a database, resumable."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.records import Plain
from embodied_iqa.cli.miqa.training import print_card, train_on_labels
from embodied_iqa.cli.output import next_command, own_command, print_progress
from embodied_iqa.cli.plan_options import read_plan
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.database.store import DatabaseStore, open_database
from embodied_iqa.quality.metrics.benchmark.benchmark_images import DatabaseImages
from embodied_iqa.quality.metrics.learned.card import CARD_FILE, load_metric_card, save_metric_card
from embodied_iqa.quality.metrics.learned.inputs import InputKind
from embodied_iqa.quality.metrics.trainable import FEWEST_REFERENCES
from embodied_iqa.quality.metrics.training.labels import (
    METRIC_TARGET,
    SplitSamples,
    metric_labels,
    split_samples,
    target_labels,
)
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name
from embodied_iqa.quality.metrics.training.training_plan import TrainingPlan
from embodied_iqa.suites.miqa.training_rows import TARGET


def train(arguments: argparse.Namespace) -> int:
    """Train, test on the held-out references, print the results; return the exit code."""
    plan = read_plan(TrainingPlan, arguments)
    recipe = recipe_by_name(arguments.name).of_epochs(plan.epochs)
    require_torch()
    if plan.target.startswith(TARGET):
        print_card(train_on_labels(recipe, plan), plan.out, as_json=arguments.json)
        return 0
    store = open_database(plan.database)
    grid, images = load_grid(store, all_views=plan.all_views), DatabaseImages(plan.database)
    target = plan.target
    if target.startswith(METRIC_TARGET):
        labels = metric_labels(images, grid.pairs.pair_ids.tolist(), target.removeprefix(METRIC_TARGET))
    else:
        labels = target_labels(grid, target)
        _refuse_unscaled(store, labels)
    samples = split_samples(images, grid.pairs, labels, plan.split)
    _refuse_few(samples, len(store.references(["reference_id"])), plan)
    if not (plan.out / CARD_FILE).is_file():
        drawn = len(samples.training.of_each(recipe.pictures_each, plan.seed).pair_ids)
        print_progress(f"trains {recipe.name}: measures {drawn:,} images first")
    from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining

    command = own_command()
    training = RecipeTraining(recipe, plan.workers, target, command)
    training.train(samples.training, plan.out, plan.seed)
    card = load_metric_card(plan.out)
    if not card.results:
        from embodied_iqa.quality.metrics.training.held_out import measure_held_out as measure

        origin: dict[str, Plain] = {
            "name": images.name,
            "split": plan.split,
            "plan": json.dumps(store.record().plan),
        }
        save_metric_card(replace(card, database=origin), plan.out)
        card = measure(plan.out, recipe, samples.held_out, workers=plan.workers)
    print_card(card, plan.out, as_json=arguments.json)
    if not arguments.json:
        reference = ("--reference", "REFERENCES") if card.input is InputKind.DIFFERENCES else ()
        next_command("metrics", "score", f"trained:{plan.out}", "IMAGES", *reference)
        trained_anew = f"train:{arguments.name}"
        next_command("benchmark", plan.database, "--metrics", f"psnr,{trained_anew}", "--out", "DIR")
    return 0


def _refuse_few(samples: SplitSamples, references: int, plan: TrainingPlan) -> None:
    """Say what was left out of a database whose training part is too small."""
    training, held_out = (len(set(part.reference_ids)) for part in (samples.training, samples.held_out))
    if training >= FEWEST_REFERENCES:
        return
    left_out = [f"split {plan.split} holds {held_out} out to test"] if held_out else []
    if unlabelled := references - training - held_out:
        why = (
            "" if plan.all_views else ": no subject is made for their camera (see --all-views), or none acted"
        )
        left_out.insert(0, f"{unlabelled} have no label of {plan.target}{why}")
    said = [f"too few references to train on; of {references} in {plan.database}", ", and ".join(left_out)]
    raise InputError(
        ", ".join(filter(None, said)),
        expected=f"{FEWEST_REFERENCES} or more, of which a sixth validates",
        got=training,
    )


def _refuse_unscaled(store: DatabaseStore, labels: NDArray[np.float64]) -> None:
    """Name the subjects whose answers have no scale, where that leaves no label."""
    unscaled = [name for name in store.subjects() if not store.constants_file(name).is_file()]
    if unscaled and not np.isfinite(labels).any():
        raise InputError(
            f"no pair of {store.path} has a label: the answers of {', '.join(unscaled)} have no scale",
            expected="two references or more on which a subject acts differently (`build` says why)",
        )

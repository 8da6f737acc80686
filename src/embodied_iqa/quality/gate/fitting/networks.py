"""Training of the networks of a learned judge; needs torch."""

from __future__ import annotations

import shutil
from pathlib import Path

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.quality.gate.fitted import NetworkFile, Networks
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.fitting.frames import GateFrames
from embodied_iqa.quality.metrics.image_set import ImageSet
from embodied_iqa.quality.metrics.learned.card import CARD_FILE
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.metric_training import TRAINING_FOLDER, RecipeTraining
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name


def train_networks(images: ImageSet, frames: GateFrames, plan: FitPlan, out: Path) -> Networks:
    """Train both networks, unless they are finished; every fit has a folder of its own.

    Args:
        images: Of the fit.
        frames: Of the training scenes.
        plan: Loss, features and seed.
        out: The gate's file; the folder is beside it.

    Raises:
        InputError: Too few scenes, or a file is missing or damaged.
    """
    ids, scenes, kinds = (tuple(one.tolist()) for one in (frames.ids, frames.scenes, frames.kinds))
    labels = {"loss": -frames.loss(plan.loss), "wrong-motion": -frames.wrong_motion}
    recipe, values = recipe_by_name(plan.recipe), [one.tolist() for one in labels.values()]
    digest = digest_of(recipe.name, recipe.input.version(), plan.seed, images.digest(ids), values, kinds)[:8]
    folder, files = out.with_suffix("") / f"{plan.view}-{digest}", []
    for name, label in labels.items():
        training = RecipeTraining(recipe, plan.workers, f"{name} of {plan.policy}", plan.command)
        training.train(TrainingSet(images, ids, scenes, label, kinds), folder / name, plan.seed)
        shutil.rmtree(folder / name / TRAINING_FOLDER, ignore_errors=True)  # only needed to continue
        place = (folder / name).relative_to(out.parent).as_posix()
        files.append(NetworkFile(place, sha256_of(folder / name / CARD_FILE)))
    return Networks(*files)

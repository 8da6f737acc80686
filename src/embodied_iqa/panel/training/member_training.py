"""One member from samples to a network with its card."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path

import torch

from embodied_iqa.errors import InternalError
from embodied_iqa.panel.samples.sample_files import Samples, load_samples
from embodied_iqa.panel.task_cameras import camera_of_tasks
from embodied_iqa.panel.training.batches import Lessons
from embodied_iqa.panel.training.held_out import examine_vla, examine_vlm
from embodied_iqa.panel.training.loss_curves import save_curve
from embodied_iqa.panel.training.networks import Network
from embodied_iqa.panel.training.onnx_export import export_member
from embodied_iqa.panel.training.recipes import Recipe
from embodied_iqa.panel.training.training_loop import train_member
from embodied_iqa.panel.training.training_state import EpochResult
from embodied_iqa.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.model_card import ModelCard, save_card

__all__ = ["CourseFolders", "DataRecipe", "take_course"]


@dataclasses.dataclass(frozen=True, slots=True)
class CourseFolders:
    """Where everything is.

    Attributes:
        train: Samples to learn from.
        test: Held-out samples.
        work: Checkpoints and curves.
        models: Where networks and cards go.
    """

    train: Path
    test: Path
    work: Path
    models: Path


@dataclasses.dataclass(frozen=True, slots=True)
class DataRecipe:
    """Where the samples come from, for the card.

    Attributes:
        train_seed: Of the training scenes.
        test_seed: Of the held-out scenes.
        drawn_px: Size at which pictures are drawn before they are shrunk.
        command: What makes it all again.
        quick: Whether it is the small version.
    """

    train_seed: int
    test_seed: int
    drawn_px: tuple[int, int]
    command: str
    quick: bool


def take_course(
    recipe: Recipe, data: DataRecipe, folders: CourseFolders, tell: Callable[[EpochResult], None]
) -> ModelCard:
    """Train, export, examine; every step is skipped or taken up again where it was done before.

    Args:
        recipe: The member.
        data: Said in the card.
        folders: Where everything is.
        tell: Called after every epoch.
    """
    torch.set_num_threads(1)
    worded_for = camera_of_tasks(recipe.views)
    samples = load_samples(folders.train, recipe.views, recipe.scenes, worded_for=worded_for)
    lessons = Lessons(samples, recipe.style)
    network, results = train_member(recipe, lessons, folders.work / recipe.name, tell)
    save_curve(results, recipe.name, folders.work / f"{recipe.name}.svg")
    path = folders.models / f"{recipe.name}.onnx"
    export_member(network, len(recipe.views), path)
    card = ModelCard(
        name=recipe.name,
        role=Role.VLA if recipe.is_vla else Role.VLM,
        summary=recipe.summary,
        views=recipe.views,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        words=lessons.words.words,
        answer_words=() if lessons.answer_words is None else lessons.answer_words.words,
        network=_network_facts(recipe, network),
        training=_training_facts(recipe, data, len(lessons), results),
    )
    save_card(card, folders.models / f"{recipe.name}.json")
    marks = _exam(recipe, folders, load_samples(folders.test, recipe.views))
    card = dataclasses.replace(card, results=marks)
    save_card(card, folders.models / f"{recipe.name}.json")
    return card


def _exam(recipe: Recipe, folders: CourseFolders, samples: Samples) -> dict[str, float | str]:
    if recipe.is_vla:
        return examine_vla(LearnedVla(folders.models, recipe.name), samples)
    if recipe.style is None:
        raise InternalError(f"{recipe.name} neither acts nor answers")
    return examine_vlm(LearnedVlm(folders.models, recipe.name), samples, recipe.style)


def _network_facts(recipe: Recipe, network: Network) -> dict[str, str | int]:
    return {
        "encoder": recipe.encoder,
        "reader": recipe.reader,
        "class": type(network).__name__,
        "parameters": sum(weight.numel() for weight in network.parameters()),
    }


def _training_facts(
    recipe: Recipe, data: DataRecipe, scenes: int, results: list[EpochResult]
) -> dict[str, str | int | float | bool]:
    return {
        "command": data.command,
        "quick": data.quick,
        "scenes": scenes,
        "train_seed": data.train_seed,
        "test_seed": data.test_seed,
        "drawn_px": f"{data.drawn_px[0]}x{data.drawn_px[1]}",
        "style": "" if recipe.style is None else str(recipe.style),
        "augmentation": str(recipe.augmentation),
        "epochs": len(results),
        "of_these_with_plain_tasks": min(recipe.epochs, len(results)),
        "tasks_a_step": recipe.tasks,
        "batch": recipe.batch,
        "rate": recipe.rate,
        "seed": recipe.seed,
        "last_loss": round(results[-1].loss, 5) if results else -1.0,
        "minutes": round(sum(result.seconds for result in results) / 60, 1),
    }

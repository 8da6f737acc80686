"""Training of one member: from samples to a network with its card."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.training.training_state import EpochResult, save_curve
from embodied_iqa.models.panel.panel_members import Recipe, task_camera
from embodied_iqa.models.panel.samples.sample_files import load_samples
from embodied_iqa.models.panel.training.batches import TrainingData
from embodied_iqa.models.panel.training.held_out import evaluate_vla, evaluate_vlm
from embodied_iqa.models.panel.training.onnx_export import export_member
from embodied_iqa.models.panel.training.training_loop import train_member
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.model_card import ModelCard, save_card


@dataclasses.dataclass(frozen=True, slots=True)
class TrainingFolders:
    """Folders of a training.

    Attributes:
        train: Training samples.
        test: Held-out samples.
        work: Checkpoints and curves.
        models: Networks and cards.
    """

    train: Path
    test: Path
    work: Path
    models: Path


@dataclasses.dataclass(frozen=True, slots=True)
class SampleOrigin:
    """Origin of the samples, as noted in the card.

    Attributes:
        train_seed: Of the training scenes.
        held_out_seed: Of the held-out scenes.
        drawn_px: Size of the drawn images before they are reduced.
        command: Command that repeats the training.
        quick: Whether scenes and epochs are reduced.
    """

    train_seed: int
    held_out_seed: int
    drawn_px: tuple[int, int]
    command: str
    quick: bool


def train_and_export(recipe: Recipe, origin: SampleOrigin, folders: TrainingFolders) -> ModelCard:
    """Train, export and evaluate a member; resumes an interrupted training.

    Args:
        recipe: The member.
        origin: Noted in the card.
        folders: Samples, checkpoints and models.
    """
    torch.set_num_threads(1)
    worded_for = task_camera(recipe.views)
    data = TrainingData(
        load_samples(folders.train, recipe.views, recipe.pictures, recipe.scenes, worded_for=worded_for),
        recipe.style,
    )
    network, results = train_member(recipe, data, folders.work / recipe.name, lambda _: None)
    save_curve(results, recipe.name, folders.work / f"{recipe.name}.svg")
    path = folders.models / f"{recipe.name}.onnx"
    export_member(network, len(recipe.views), recipe.pictures.size_px, path)
    card = ModelCard(
        name=recipe.name,
        role=Role.VLA if recipe.is_vla else Role.VLM,
        summary=recipe.summary,
        views=recipe.views,
        sha256=sha256_of(path),
        words=data.words.words,
        answer_words=() if data.answer_words is None else data.answer_words.words,
        network={
            "encoder": recipe.encoder,
            "reader": recipe.reader,
            "look": recipe.look,
            "framing": str(recipe.pictures.framing),
            "class": type(network).__name__,
            "parameters": sum(weight.numel() for weight in network.parameters()),
        },
        training=_training_facts(recipe, origin, len(data), results),
    )
    save_card(card, path.with_suffix(".json"))
    card = dataclasses.replace(card, results=_evaluate(recipe, folders))
    save_card(card, path.with_suffix(".json"))
    return card


def _evaluate(recipe: Recipe, folders: TrainingFolders) -> dict[str, float | str]:
    samples = load_samples(folders.test, recipe.views, recipe.pictures)
    if recipe.style is None:
        return evaluate_vla(LearnedVla(folders.models, recipe.name), samples)
    return evaluate_vlm(LearnedVlm(folders.models, recipe.name), samples, recipe.style)


def _training_facts(
    recipe: Recipe, origin: SampleOrigin, scenes: int, results: list[EpochResult]
) -> dict[str, str | int | float | bool]:
    return {
        "command": origin.command,
        "quick": origin.quick,
        "scenes": scenes,
        "train_seed": origin.train_seed,
        "test_seed": origin.held_out_seed,
        "drawn_px": f"{origin.drawn_px[0]}x{origin.drawn_px[1]}",
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

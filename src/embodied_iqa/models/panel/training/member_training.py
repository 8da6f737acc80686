"""Training of one member: from samples to a network as ONNX with its card."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.training.onnx_writer import write_network
from embodied_iqa.base.training.training_state import EpochResult, save_curve
from embodied_iqa.models.panel.criterion import plan_error, would_succeed
from embodied_iqa.models.panel.panel_members import ReactiveRecipe, Recipe, task_camera
from embodied_iqa.models.panel.samples.sample_files import Samples, load_samples
from embodied_iqa.models.panel.training.batches import TrainingData, answers_of, expert_plan, instruction_of
from embodied_iqa.models.panel.training.captioners import Captioner
from embodied_iqa.models.panel.training.policies import PLAN_WIDTH, QueryPolicy, plan_in_metres
from embodied_iqa.models.panel.training.reactive import ReactivePolicy
from embodied_iqa.models.panel.training.training_loop import Network, train_member
from embodied_iqa.models.panel.true_answers import Style
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.backends.panel.format import (
    FEATURES,
    MAX_TASK_WORDS,
    PICTURE,
    PLAN_CENTRE,
    PLAN_SCALE,
    TOOL,
)
from embodied_iqa.models.subjects.backends.panel.stepping import STEP_RATE_HZ
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.model_card import STEP_RATE, ModelCard, save_card
from embodied_iqa.world.tasks.vocabulary import Verb


class _Acting(nn.Module):
    """Policy for several tasks on one scene, with images as bytes and plans in metres."""

    def __init__(self, network: QueryPolicy) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, *images: Tensor) -> tuple[Tensor, ...]:
        with _features_of(self.network) as features:
            output = self.network(tuple(map(_unit, images)), words[None])
        aim = torch.matmul(output.attention[0][:, 0].softmax(-1), output.objects[0].places[0])
        return plan_in_metres(output.plan), output.more.sigmoid(), output.seen.sigmoid(), aim, *features


class _Reacting(nn.Module):
    """Policy that looks while it acts, for several tasks on one scene with a tool each."""

    def __init__(self, network: ReactivePolicy) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, tool: Tensor, *images: Tensor) -> tuple[Tensor, ...]:
        scaled = (tool - tool.new_tensor(PLAN_CENTRE)) / tool.new_tensor(PLAN_SCALE)
        with _features_of(self.network) as features:
            output, following = self.network.act(tuple(map(_unit, images)), words[None], scaled)
        aim = torch.matmul(output.attention[0][:, 0].softmax(-1), output.objects[0].places[0])
        plan = plan_in_metres(output.plan), output.more.sigmoid(), output.seen.sigmoid()
        return *plan, aim, following.softmax(-1), *features


class _Answering(nn.Module):
    """Captioner for several tasks on one image, with images as bytes."""

    def __init__(self, network: Captioner) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, *images: Tensor) -> tuple[Tensor, ...]:
        with _features_of(self.network) as features:
            answer = self.network.say(tuple(map(_unit, images)), words[None])
        return answer, *features


@contextmanager
def _features_of(network: Network) -> Iterator[list[Tensor]]:
    """Collect what the image encoder of each view returns."""
    features: list[Tensor] = []
    hooks = [
        encoder.register_forward_hook(lambda _module, _inputs, output: features.append(output.float()))
        for encoder in network.image_encoders
    ]
    try:
        yield features
    finally:
        for hook in hooks:
            hook.remove()


def _unit(image: Tensor) -> Tensor:
    return image.permute(0, 3, 1, 2).float() / 255 - 0.5


def export_member(
    network: Network, views: int, image_px: tuple[int, int], path: Path, *, halved: bool = True
) -> None:
    """Write the network as ONNX, atomically.

    Inputs: ``words`` ``(R, 32)`` int64 for any number of tasks, and ``picture_0`` (``picture_1``)
    ``(1, H, W, 3)`` uint8. Outputs of a VLA: ``plan`` ``(R, K, 6)``, ``more`` ``(R, K)`` and ``seen``
    ``(R,)`` probabilities, ``aim`` ``(R, 2)`` in [0, 1]; of a VLM: ``answer`` ``(R, 28)`` int64. Of both:
    ``features_0`` (``features_1``) ``(1, C, rows, columns)``, what the encoder of each view sees before any
    task is read. One that looks while it acts also has the input ``tool`` ``(R, 6)`` float32, columns as in
    `WAYPOINT_FIELDS`, and the output ``following`` ``(R, K + 1)``, probabilities of the waypoint that comes
    next; the last one: nothing is left to do.
    """
    module, outputs = _with_outputs(network)
    module.eval()
    width, height = image_px
    images = tuple(torch.zeros((1, height, width, 3), dtype=torch.uint8) for _ in range(views))
    words = torch.full((2, MAX_TASK_WORDS), 4, dtype=torch.int64)
    features = [f"{FEATURES}{index}" for index in range(views)]
    states = {TOOL: torch.zeros((2, PLAN_WIDTH))} if isinstance(network, ReactivePolicy) else {}
    inputs = {"words": words} | states | {f"{PICTURE}{index}": image for index, image in enumerate(images)}
    rows = dict.fromkeys(["words", *states, *outputs], "tasks")
    write_network(module, inputs, [*outputs, *features], rows, path, halved=halved)


def _with_outputs(network: Network) -> tuple[nn.Module, list[str]]:
    """Return a network as it is exported, and the names of its outputs."""
    if isinstance(network, Captioner):
        return _Answering(network), ["answer"]
    plan = ["plan", "more", "seen", "aim"]
    if isinstance(network, ReactivePolicy):
        return _Reacting(network), [*plan, "following"]
    return _Acting(network), plan


_TASKS_A_SCENE: Final = 3


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
        load_samples(folders.train, recipe.views, recipe.images, recipe.scenes, worded_for=worded_for),
        recipe.style,
    )
    network, results = train_member(recipe, data, folders.work / recipe.name, lambda _: None)
    save_curve(results, recipe.name, folders.work / f"{recipe.name}.svg")
    facts = training_facts(recipe, origin, len(data), results)
    answers = () if data.answer_words is None else data.answer_words.words
    card = export_with_card(recipe, folders.models, data.words.words, network, facts, answer_words=answers)
    card = dataclasses.replace(card, results=_evaluate(recipe, folders))
    save_card(card, folders.models / f"{recipe.name}.json")
    return card


def export_with_card(
    recipe: Recipe,
    folder: Path,
    words: tuple[str, ...],
    network: Network,
    training: dict[str, str | int | float | bool],
    *,
    answer_words: tuple[str, ...] = (),
) -> ModelCard:
    """Export a trained member, and write its card, without results of an evaluation.

    Args:
        recipe: The member.
        folder: Of networks and cards.
        words: Vocabulary of tasks.
        network: Trained.
        training: How, see `training_facts`.
        answer_words: Vocabulary of answers.
    """
    path = folder / f"{recipe.name}.onnx"
    export_member(network, len(recipe.views), recipe.images.size_px, path)
    card = ModelCard(
        name=recipe.name,
        role=Role.VLA if recipe.is_vla else Role.VLM,
        summary=recipe.summary,
        views=recipe.views,
        sha256=sha256_of(path),
        words=words,
        answer_words=answer_words,
        network={
            **({STEP_RATE: round(STEP_RATE_HZ)} if isinstance(recipe, ReactiveRecipe) else {}),
            "encoder": recipe.encoder,
            "reader": recipe.reader,
            "look": recipe.look,
            "framing": str(recipe.images.framing),
            "class": type(network).__name__,
            "parameters": sum(weight.numel() for weight in network.parameters()),
        },
        training=training,
    )
    save_card(card, path.with_suffix(".json"))
    return card


def _evaluate(recipe: Recipe, folders: TrainingFolders) -> dict[str, float | str]:
    samples = load_samples(folders.test, recipe.views, recipe.images)
    if recipe.style is None:
        return evaluate_vla(LearnedVla(folders.models, recipe.name), samples)
    return evaluate_vlm(LearnedVlm(folders.models, recipe.name), samples, recipe.style)


def training_facts(
    recipe: Recipe, origin: SampleOrigin, scenes: int, results: list[EpochResult]
) -> dict[str, str | int | float | bool]:
    """Return what a card says about a training on ``scenes`` samples."""
    return {
        "command": origin.command,
        **({"start": recipe.start} if isinstance(recipe, ReactiveRecipe) else {}),
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


def evaluate_vla(member: LearnedVla, samples: Samples) -> dict[str, float | str]:
    """Return geometric success, also by verb, and the median position error of the tasks that it acts on.

    Counts the first tasks of each scene whose objects are present, even if the member's views miss them.
    """
    done: dict[Verb, list[bool]] = {verb: [] for verb in Verb}
    distances_mm: list[float] = []
    for scene, task in _present(samples):
        instruction = instruction_of(samples, scene, task)
        images = [shots[scene] for shots in samples.images]
        plan = member.plan(images, samples.tasks[scene][task], prepared=True)
        expert = expert_plan(samples, scene, task)
        error = plan_error(plan.waypoints, expert) if plan.acts else None
        done[instruction.verb].append(would_succeed(instruction.verb, instruction.kind, error))
        if error is not None:
            distances_mm.append(error.position_mm)
    rates = {verb: float(np.mean(verdicts)) for verb, verdicts in done.items() if verdicts}
    return {
        "geometric_success": round(float(np.mean(list(rates.values()))), 4),
        "median_position_mm": round(float(np.median(distances_mm)), 2) if distances_mm else -1.0,
        "tasks": float(sum(map(len, done.values()))),
        **{f"geometric_success_{verb}": round(rate, 4) for verb, rate in rates.items()},
    }


def evaluate_vlm(member: LearnedVlm, samples: Samples, style: Style) -> dict[str, float | str]:
    """Return mean BLEU against the true answers, and the share of identical answers."""
    truths = answers_of(samples, 0, style)
    frequencies = document_frequencies(text for row in truths for text in row)
    scores: list[float] = []
    exact: list[bool] = []
    for scene, task in _present(samples):
        answer = member.describe(samples.images[0][scene], samples.tasks[scene][task], prepared=True)
        truth = truths[scene][task]
        scores.append(score_cognition(answer, truth, frequencies).bleu)
        exact.append(answer == truth)
    return {
        "bleu": round(float(np.mean(scores)), 4),
        "exact": round(float(np.mean(exact)), 4),
        "tasks": float(len(scores)),
    }


def _present(samples: Samples) -> Iterator[tuple[int, int]]:
    """Yield scene and task of the first few distinct tasks of each scene whose objects are present."""
    for scene in range(len(samples)):
        seen: set[tuple[int, ...]] = set()
        for task in range(samples.verb.shape[1]):
            key = tuple(int(label[scene, task]) for label in (samples.verb, samples.target, samples.goal))
            if key[1] < 0 or key in seen:
                continue
            seen.add(key)
            yield scene, task
            if len(seen) == _TASKS_A_SCENE:
                break

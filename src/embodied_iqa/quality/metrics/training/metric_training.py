"""Training of a metric by recipe: measures the inputs, trains, writes network and card."""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import require_same_plan
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import Plain
from embodied_iqa.base.training.training_state import EpochResult, save_curve
from embodied_iqa.quality.metrics.learned.card import (
    CARD_FILE,
    NETWORK_FILE,
    MetricCard,
    load_metric_card,
    save_metric_card,
)
from embodied_iqa.quality.metrics.learned.trained import KIND
from embodied_iqa.quality.metrics.learned.training_range import RANGE_FILE, TrainingRange
from embodied_iqa.quality.metrics.trainable import FEWEST_REFERENCES, TrainingSet
from embodied_iqa.quality.metrics.training.cache import input_cache
from embodied_iqa.quality.metrics.training.exporting import export_network
from embodied_iqa.quality.metrics.training.loop import (
    LabelledInputs,
    MetricEpoch,
    Network,
    TrainingRun,
    label_scale,
    predict,
    train_network,
    with_shared_labels,
)
from embodied_iqa.quality.metrics.training.measuring import MeasuredInputs, measure_inputs
from embodied_iqa.quality.metrics.training.miqa_recipes import region_plan
from embodied_iqa.quality.metrics.training.recipes import (
    RECIPES_VERSION,
    MetricRecipe,
    Objective,
    RegionEncoderPlan,
)
from embodied_iqa.quality.metrics.training.region_encoder import ENCODER_FILE, train_region_encoder
from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

TRAINING_FOLDER: Final = "training"
"""Checkpoint of an unfinished training."""
REGION_FOLDER: Final = "region_encoder"
"""Region encoder that was trained because none was given."""
INPUTS_FOLDER: Final = "inputs"
"""Measured images of an unfinished training, mapped into memory."""
HELD_OUT_INPUTS: Final = "held_out_inputs"
"""Likewise, of its evaluation."""
_JOB: Final = "training of a metric"
_CURVE: Final = "curve.svg"
_ONE_IN: Final = 6
"""Of the training references one in this many is the validation part."""
_OWN: Final = frozenset(
    {
        TRAINING_FOLDER,
        REGION_FOLDER,
        INPUTS_FOLDER,
        HELD_OUT_INPUTS,
        NETWORK_FILE,
        CARD_FILE,
        RANGE_FILE,
        _CURVE,
    }
)
"""What a training writes: a folder with anything else is somebody's."""
_LIBRARIES: Final = ("numpy", "opencv-python-headless", "onnxruntime", "torch")

Watch = Callable[[MetricEpoch], None]


def validation_references(reference_ids: Sequence[str], seed: int) -> frozenset[str]:
    """Draw a sixth of the training references; the draw does not depend on their order."""
    names = sorted(set(reference_ids))
    drawn = np.random.default_rng([seed, 1]).permutation(len(names))[: max(1, len(names) // _ONE_IN)]
    return frozenset(names[index] for index in drawn)


def _refuse_few(samples: TrainingSet) -> None:
    count = len(set(samples.reference_ids))
    if count < FEWEST_REFERENCES:
        expected = f"{FEWEST_REFERENCES} or more"
        raise InputError("too few references to train on", expected=expected, got=count)


def _refuse_foreign(out: Path) -> None:
    other = [item.name for item in out.iterdir() if item.name not in _OWN] if out.is_dir() else []
    if foreign := [name for name in other if not name.startswith(".")]:
        expected = "a new or empty folder, or one of this training"
        raise InputError(f"{out} holds no {_JOB}", expected=expected, got=min(foreign))


def _learned_first(samples: TrainingSet, held: Container[str]) -> tuple[TrainingSet, int]:
    """Return the pairs with those of held references at the end, and the number of the others."""
    validating = np.array([name in held for name in samples.reference_ids])
    return samples.part(np.argsort(validating, kind="stable")), int((~validating).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """Result of a training: the network, its epochs, what it learned from, and facts for its card."""

    network: Network
    epochs: list[MetricEpoch]
    inputs: LabelledInputs
    training: LabelledInputs
    validation: LabelledInputs
    facts: dict[str, Plain]


@dataclass(frozen=True, slots=True)
class RecipeTraining:
    """A metric before its training; a `Trainable`.

    Attributes:
        recipe: How it is trained.
        workers: Processes that measure the images.
        target: What the labels are, for the card.
        command: For the card.
        starting: Files to begin with. A recipe with a region token but without a file for its encoder trains
            one on rendered scenes.
        title: Of the progress bar; empty for the name of the recipe.
    """

    recipe: MetricRecipe
    workers: int = 1
    target: str = ""
    command: str = ""
    starting: StartingWeights = field(default_factory=StartingWeights)
    title: str = ""

    @property
    def name(self) -> str:
        """Name of the recipe."""
        return self.recipe.name

    @property
    def version(self) -> str:
        """Changes with everything that the result depends on beside set and seed."""
        inputs = self.recipe.input.version()
        text = f"{RECIPES_VERSION} {torch.__version__} {inputs} {sorted(asdict(self.recipe).items())!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def train(self, samples: TrainingSet, out: Path, seed: int) -> str:
        """Train, or continue where a training in this folder was interrupted; see `Trainable`.

        Raises:
            UsageError: The folder holds a metric of another training.
            InputError: Too few references, an image is missing, the folder holds something else, or an
                unfinished training is another one or under way in another process.
        """
        with self._shown(samples, seed) as watch:
            return self.train_watched(samples, out, seed, watch)

    def train_watched(self, samples: TrainingSet, out: Path, seed: int, watch: Watch) -> str:
        """Train, and call `watch` after each epoch; see `train`."""
        _refuse_few(samples)
        record = self._record(samples, seed)
        if _is_finished(out, record, seed):
            return f"{KIND}:{out}"
        _refuse_foreign(out)
        with JobFolder(out, _JOB).locked():
            if not _is_finished(out, record, seed):  # another process may have finished it since
                self._train(samples, out, seed, record, watch)
        return f"{KIND}:{out}"

    def predicted(
        self, samples: TrainingSet, others: MeasuredInputs, out: Path, seed: int
    ) -> NDArray[np.float64]:
        """Train as `train` does, and return ``(N,)`` labels that are predicted of other images.

        No metric is written: the folder holds the state of the training, from which the same call goes on,
        and which the caller removes.

        Args:
            samples: What to learn from.
            others: Measured images of the recipe's input.
            out: Folder of the state.
            seed: Of everything random.

        Raises:
            UsageError: The folder holds the state of another training.
            InputError: As `train`.
        """
        _refuse_few(samples)
        with JobFolder(out, _JOB).locked(), self._shown(samples, seed) as watch:
            found = self._learned(samples, out, seed, self._record(samples, seed), watch)
        mean, deviation = label_scale(found.training.labels)
        rows = LabelledInputs(others.values, others.views, np.zeros(len(others.views)))
        return predict(found.network, rows)[:, 1].astype(np.float64) * deviation + mean

    def _learned(
        self, samples: TrainingSet, out: Path, seed: int, record: Mapping[str, str], watch: Watch
    ) -> _Learned:
        held = validation_references(samples.reference_ids, seed)
        samples, learned = _learned_first(samples.of_each(self.recipe.pictures_each, seed), held)
        inputs = self._inputs(samples, out)
        kinds = np.array(samples.kinds)[:learned] if samples.kinds else None
        training = with_shared_labels(inputs.part(slice(learned)), kinds, self.recipe.shared_label)
        recipe, starting = self.recipe.of_size(len(samples.pair_ids)), self._starting(out, seed)
        run = TrainingRun(recipe, seed, out / TRAINING_FOLDER, record, starting)
        validation = inputs.part(slice(learned, None))
        network, epochs = train_network(run, training, validation, watch)
        facts: dict[str, Plain] = {
            "pairs": len(samples.pair_ids),
            "references": len(set(samples.reference_ids)),
            "validation_references": len(held),
        }
        return _Learned(network, epochs, inputs, training, validation, facts | _results(network, epochs))

    def _train(
        self, samples: TrainingSet, out: Path, seed: int, record: Mapping[str, str], watch: Watch
    ) -> None:
        found = self._learned(samples, out, seed, record, watch)
        ranks, training = self.recipe.objective is Objective.TWO_HEADS, found.training
        export_network(found.network, training, label_scale(training.labels), out / NETWORK_FILE, ranks=ranks)
        save_curve([EpochResult(one.epoch, one.loss, 0.0) for one in found.epochs], self.name, out / _CURVE)
        TrainingRange.of(training.values, found.validation.values).save(out)
        card = self._card(found.inputs, sha256_of(out / NETWORK_FILE), samples.images.name)
        ends = (0.0, 1.0) if ranks else None
        facts = found.facts
        save_metric_card(replace(card, rank_range=ends, training={"seed": seed, **facts, **record}), out)
        shutil.rmtree(out / INPUTS_FOLDER, ignore_errors=True)

    def _starting(self, out: Path, seed: int) -> StartingWeights:
        """Return the files to begin with; trains the region encoder where there is none."""
        plan, network = region_plan(self.recipe, seed), self.recipe.network
        if plan is None or network is None:
            return self.starting
        file = self.starting.region or self._region_encoder(plan, out)
        backbone = self.starting.backbone or (file if network.pretrained else None)
        return StartingWeights(backbone, None if network.region is None else file)

    def _region_encoder(self, plan: RegionEncoderPlan, out: Path) -> Path:
        with ProgressBars() as bars:
            bars.update("region encoder", 0, plan.epochs)
            train_region_encoder(
                plan,
                out / REGION_FOLDER,
                lambda one: bars.update(
                    "region encoder", one.epoch, plan.epochs, note=f"loss {one.loss:.3f}"
                ),
            )
        return out / REGION_FOLDER / ENCODER_FILE

    def _record(self, samples: TrainingSet, seed: int) -> dict[str, str]:
        """Return what the result depends on beside recipe and seed."""
        digest = hashlib.sha256(samples.images.digest(samples.pair_ids).encode())
        digest.update(np.ascontiguousarray(samples.labels, np.float64).tobytes())
        digest.update(" ".join(samples.kinds).encode())
        found = {"samples": digest.hexdigest(), "version": self.version, **self.starting.record()}
        plan = region_plan(self.recipe, seed)
        if plan is not None and self.starting.region is None:
            found["region_plan"] = repr(sorted(asdict(plan).items()))
        return found

    def _inputs(self, samples: TrainingSet, out: Path) -> LabelledInputs:
        measured = measure_inputs(
            samples.images,
            samples.pair_ids,
            samples.reference_ids,
            self.recipe.input,
            input_cache(),
            workers=self.workers,
            store=out / INPUTS_FOLDER if self.recipe.input.kind.is_image else None,
        )
        return LabelledInputs(measured.values, measured.views, np.asarray(samples.labels, np.float64))

    @contextmanager
    def _shown(self, samples: TrainingSet, seed: int) -> Iterator[Watch]:
        drawn = samples.of_each(self.recipe.pictures_each, seed)
        epochs = self.recipe.of_size(len(drawn.pair_ids)).epochs

        def show(epoch: MetricEpoch) -> None:
            note = f"loss {epoch.loss:.3f}, validation SRCC {epoch.validation_srcc:.3f}"
            bars.update(self.name, epoch.epoch, epochs, title=f"{self.title or self.name}, epochs", note=note)

        with ProgressBars() as bars:
            yield show

    def _card(self, inputs: LabelledInputs, sha256: str, database: str) -> MetricCard:
        recipe = self.recipe
        return MetricCard(
            name=self.name,
            summary=recipe.summary,
            input=recipe.input.kind,
            input_version=recipe.input.version(),
            subjects=recipe.input.subjects,
            size_px=recipe.input.size_px,
            views=CELL_VIEWS,
            target=self.target,
            label_low=float(inputs.labels.min()),
            label_high=float(inputs.labels.max()),
            sha256=sha256,
            database={"name": database},
            versions=_versions(),
            command=self.command,
        )


def _results(network: Network, epochs: list[MetricEpoch]) -> dict[str, Plain]:
    best = max(epochs, key=lambda one: np.nan_to_num(one.validation_srcc, nan=-1.0))
    found = best.validation_srcc
    return {
        "epochs": len(epochs),
        "best_epoch": best.epoch,
        "validation_srcc": found if np.isfinite(found) else None,
        "parameters": sum(weight.numel() for weight in network.parameters()),
    }


def _is_finished(out: Path, record: Mapping[str, str], seed: int) -> bool:
    """Return whether the folder holds the result of this very training; a cut network is none."""
    if not (out / CARD_FILE).is_file():
        return False
    card = load_metric_card(out)
    same, known = {**record, "seed": seed}, card.training
    require_same_plan(out, {name: known[name] for name in same if name in known}, same)
    network = out / NETWORK_FILE
    return network.is_file() and sha256_of(network) == card.sha256


def _versions() -> dict[str, str]:
    own = {"embodied_iqa": __version__, "python": platform.python_version()}
    return own | {name: version_of(name) for name in _LIBRARIES}

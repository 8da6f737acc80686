"""Training of metrics: learns, resumes to the same weights, writes a metric that needs no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import embodied_iqa
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.correlation import srcc
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.metrics.benchmark.values import SharedInputs, measured
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.learned.card import load_metric_card
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric, held_in
from embodied_iqa.quality.metrics.learned.training_range import RANGE_FILE
from embodied_iqa.quality.metrics.metric import Metric, MetricContext, Needs
from embodied_iqa.quality.metrics.trainable import Trainable, TrainingSet
from embodied_iqa.quality.metrics.training import metric_training
from embodied_iqa.quality.metrics.training.cache import input_cache
from embodied_iqa.quality.metrics.training.held_out import measure_held_out
from embodied_iqa.quality.metrics.training.loop import (
    LabelledInputs,
    TrainingRun,
    predict,
    train_network,
    with_shared_labels,
)
from embodied_iqa.quality.metrics.training.measuring import measure_inputs
from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining, validation_references
from embodied_iqa.quality.metrics.training.recipes import RECIPES, recipe_by_name, trainable_by_name
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from live_process import TRIAL_S

REFERENCES = tuple(f"r{number}" for number in range(8))
LEVELS = range(5)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def reference(number: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(number)
    image = np.full((60, 80, 3), 128, np.uint8)
    for _ in range(6):
        x, y = int(rng.integers(70)), int(rng.integers(50))
        cv2.circle(image, (x, y), 8, tuple(int(value) for value in rng.integers(0, 255, 3)), -1)
    return image


@dataclass(frozen=True)
class NoisyImages:
    """Circles under noise of five strengths; from memory, and counts what is read."""

    reads: list[str]
    name: str = "circles"

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        for pair_id in pair_ids:
            self.reads.append(pair_id)
            owner, level = pair_id.split("-")
            clean = reference(int(owner[1:]))
            noise = np.random.default_rng(hash_of(pair_id)).normal(0, 12 * int(level) + 1, clean.shape)
            view = View.TOP if int(owner[1:]) % 2 else View.SIDE
            yield PairImages(
                pair_id, np.clip(clean + noise, 0, 255).astype(np.uint8), clean, MetricContext(view)
            )

    def digest(self, pair_ids: Sequence[str]) -> str:
        return " ".join(pair_ids)


def hash_of(text: str) -> int:
    return sum(ord(letter) * 31**place for place, letter in enumerate(text)) % 2**31


def samples(reads: list[str] | None = None, owners: Sequence[str] = REFERENCES) -> TrainingSet:
    pairs = [(f"{owner}-{level}", owner, 5.0 - level) for owner in owners for level in LEVELS]
    ids, names, labels = zip(*pairs, strict=True)
    return TrainingSet(NoisyImages([] if reads is None else reads), ids, names, np.array(labels))


def small(name: str, epochs: int = 6) -> RecipeTraining:
    recipe = RECIPES[name]
    size = (64, 32) if recipe.input.kind is InputKind.IMAGE else recipe.input.size_px
    return RecipeTraining(
        replace(recipe, epochs=epochs, batch=8, input=replace(recipe.input, size_px=size)), target="noise"
    )


def test_images_of_one_kind_and_camera_share_part_of_their_label() -> None:
    labels, views = np.array([1.0, 3.0, 5.0, 9.0]), np.array([0, 0, 1, 0])
    inputs, kinds = (
        LabelledInputs(np.zeros((4, 2), np.float32), views, labels),
        np.array(["1:2"] * 3 + ["1:3"]),
    )
    np.testing.assert_allclose(with_shared_labels(inputs, kinds, 0.8).labels, [1.8, 2.2, 5, 9])
    np.testing.assert_array_equal(with_shared_labels(inputs, kinds, 0.0).labels, labels)
    assert with_shared_labels(inputs, None, 0.8) is inputs


def test_a_large_training_set_needs_fewer_epochs() -> None:
    recipe = RECIPES["embodied-nr"]
    assert recipe.of_size(7_200) == recipe
    assert recipe.of_size(29_500).epochs == 22
    assert recipe.of_size(10**6).epochs == 20
    assert RECIPES["cnniqa"].of_size(7_200) == RECIPES["cnniqa"]
    assert RECIPES["cnniqa"].of_size(29_500).epochs == 9


def test_kinds_take_the_noise_out_of_labels(tmp_path: Path) -> None:
    true = samples(owners=REFERENCES[:6])
    kinds = tuple(str(label) for label in true.labels)
    training, held_out = small("embodied-nr", epochs=20), samples(owners=REFERENCES[6:])
    found: dict[str, list[float]] = {"alone": [], "shared": []}
    for seed in (5, 6, 7):  # a tiny training set may lead astray
        noise = np.random.default_rng(seed).normal(0, 2.5, len(true.labels))
        noisy = replace(true, labels=true.labels + noise)
        for name, one in (("alone", noisy), ("shared", replace(noisy, kinds=kinds))):
            out = tmp_path / f"{name}-{seed}"
            training.train(one, out, 0)
            found[name].append(measure_held_out(out, training.recipe, held_out).results["srcc"])
    assert np.mean(found["shared"]) > np.mean(found["alone"])
    with pytest.raises(InputError, match="wrong training set"):
        replace(true, kinds=("1:1",))


@pytest.mark.parametrize("name", ["embodied-nr", "embodied-fr"])
def test_our_metrics_learn_an_order_of_noise_on_references_they_have_not_seen(
    name: str, tmp_path: Path
) -> None:
    training = small(name, epochs=40)
    assert isinstance(training, Trainable)
    made = training.train(samples(owners=REFERENCES[:6]), tmp_path / "metric", 0)
    metric = metric_by_name(made)
    assert isinstance(metric, Metric)
    assert metric.info.higher_is_better
    card = measure_held_out(tmp_path / "metric", training.recipe, samples(owners=REFERENCES[6:]))
    assert card.results["srcc"] > 0.9
    assert not {"srcc_low", "srcc_high"} & card.results.keys(), "two references give no interval"
    assert card.results["pairs"] == 10
    assert card == load_metric_card(tmp_path / "metric")
    assert card.target == "noise"
    assert card.training["references"] == 6
    assert {"numpy", "torch", "embodied_iqa"} <= card.versions.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_trains_and_exports_what_it_trained(name: str, tmp_path: Path) -> None:
    training = small(name, epochs=1)
    training.train(samples(), tmp_path / "metric", 3)
    metric = TrainedMetric(tmp_path / "metric")
    assert metric.info.needs is (Needs.REFERENCE if name == "embodied-fr" else Needs.NOTHING)
    (pair,) = NoisyImages([]).read(["r1-4"])
    found = metric.predict(pair.distorted, pair.reference, pair.context)
    assert np.isfinite([found.rank, found.label]).all()
    assert 0.0 <= found.rank <= 1.0
    assert found.outside_training is False, "an image of the training"
    assert metric.measure(pair.distorted, pair.reference, pair.context) == found.rank
    calibrated = metric_by_name(f"trained:{tmp_path / 'metric'}#calibrated")
    assert calibrated.measure(pair.distorted, pair.reference, pair.context) == found.label
    assert 1.0 <= found.label <= 5.0
    assert np.isfinite(metric.measure(pair.distorted, pair.reference))  # of an unknown camera


def test_metrics_of_one_input_measure_an_image_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        small("embodied-nr", epochs=1).train(samples(), tmp_path / str(seed), seed)
    metrics = [TrainedMetric(tmp_path / str(seed)) for seed in range(2)]
    (pair,) = NoisyImages([]).read(["r1-4"])
    alone = [measured(metric, pair) for metric in metrics]
    calls: list[NetworkInput] = []
    measure = NetworkInput.measure

    def counted(self: NetworkInput, *arguments: object) -> NDArray[np.float32]:
        calls.append(self)
        return measure(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(NetworkInput, "measure", counted)
    inputs: SharedInputs = {}
    together = [measured(metric, pair, inputs) for metric in metrics]
    assert len(calls) == 1
    assert [one.value for one in together] == [one.value for one in alone]
    ((_, input_s),) = inputs.values()
    assert all(one.milliseconds > 1e3 * input_s for one in together)  # its time counts for both


def test_a_stopped_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    recipe = small("embodied-nr", epochs=4).recipe
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 12)).astype(np.float32)
    inputs = LabelledInputs(values, np.zeros(60, np.int64), values[:, 0].astype(float))
    parts = inputs.part(np.arange(60) < 40), inputs.part(np.arange(60) >= 40)
    whole, epochs = train_network(TrainingRun(recipe, 1, tmp_path / "whole"), *parts, lambda _: None)
    run = TrainingRun(recipe, 1, tmp_path / "parts")
    train_network(run, *parts, lambda _: None, stop_after=2)
    seen: list[int] = []
    resumed, again = train_network(run, *parts, lambda epoch: seen.append(epoch.epoch))
    assert seen == [1, 2, 3, 4]
    assert again == epochs
    for name, weight in whole.state_dict().items():
        assert weight.equal(resumed.state_dict()[name]), name
    other, _ = train_network(TrainingRun(recipe, 2, tmp_path / "other"), *parts, lambda _: None)
    assert not np.array_equal(predict(whole, inputs), predict(other, inputs))
    with pytest.raises(UsageError, match="another plan: seed is 1 there, 2 asked"):
        train_network(replace(run, seed=2), *parts, lambda _: None)


def test_training_stops_early_and_keeps_the_best_epoch(tmp_path: Path) -> None:
    recipe = replace(small("embodied-nr").recipe, epochs=40, patience=3, rate=1e-5)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 5)).astype(np.float32)
    inputs = LabelledInputs(values, np.zeros(40, np.int64), rng.normal(size=40))  # nothing to learn
    others = LabelledInputs(values[::-1].copy(), inputs.views, rng.normal(size=40))
    network, epochs = train_network(
        TrainingRun(recipe, 0, tmp_path / "state"), inputs, others, lambda _: None
    )
    best = max(epochs, key=lambda epoch: epoch.validation_srcc)
    assert len(epochs) < 40
    assert best.epoch < len(epochs) - 2
    found = srcc(predict(network, others)[:, 0].astype(float), others.labels).value
    assert found == pytest.approx(best.validation_srcc, abs=1e-6)


def test_images_are_measured_once_and_validation_references_are_not_trained_on(tmp_path: Path) -> None:
    reads: list[str] = []
    training = small("embodied-nr", epochs=1)
    training.train(samples(reads), tmp_path / "first", 0)
    assert len(reads) == len(REFERENCES) * len(LEVELS)
    training.train(samples(reads), tmp_path / "second", 1)
    training.train(samples(reads), tmp_path / "first", 0)  # is finished
    assert len(reads) == len(REFERENCES) * len(LEVELS)
    network = tmp_path / "second" / "network.onnx"
    whole = network.read_bytes()
    network.write_bytes(whole[: len(whole) // 2])
    training.train(samples(reads), tmp_path / "second", 1)  # is written again
    assert len(network.read_bytes()) == len(whole)
    first, second = ((tmp_path / name / "card.json").read_bytes() for name in ("first", "second"))
    assert first != second
    with pytest.raises(UsageError, match="another plan: seed is 0 there, 5 asked"):
        training.train(samples(), tmp_path / "first", 5)
    held = validation_references(REFERENCES, 0)
    assert len(held) == 1
    assert held == validation_references(REFERENCES[::-1], 0)


@pytest.mark.parametrize("name", ["notes.txt", "inputs/thesis.txt"])
def test_a_folder_of_somebody_is_refused_and_left_as_it_was(tmp_path: Path, name: str) -> None:
    """Of images: their inputs are stored in the folder and removed at the end."""
    file = tmp_path / "own" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(
        InputError, match=r"own holds no training of a metric|inputs holds no measured inputs"
    ):
        small("cnniqa", epochs=1).train(samples(), tmp_path / "own", 0)
    assert file.read_text() == "mine"
    assert not list((tmp_path / "own").rglob("*.onnx"))


def test_one_training_works_in_a_folder(tmp_path: Path) -> None:
    training, reads = small("embodied-nr", epochs=1), list[str]()
    with (
        JobFolder(tmp_path, "training of a metric").locked(),
        pytest.raises(InputError, match="another training of a metric works in"),
    ):
        training.train(samples(reads), tmp_path, 0)
    assert reads == []


def test_a_training_that_another_process_finishes_before_the_lock_is_taken_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, trained = small("embodied-nr", epochs=1), list[int]()
    finished = iter((False, True))
    monkeypatch.setattr(metric_training, "_is_finished", lambda *_: next(finished))
    monkeypatch.setattr(RecipeTraining, "_train", lambda *_: trained.append(1))
    assert training.train(samples(), tmp_path, 0) == f"trained:{tmp_path}"
    assert not trained


def test_the_cache_is_bounded_and_reads_what_was_written(tmp_path: Path) -> None:
    cache = input_cache()
    arrays = {f"k{number}": np.full(100, number, np.float32) for number in range(20)}
    cache.put(arrays.items())
    found = cache.get(["k3", "none", "k7"])
    assert sorted(found) == ["k3", "k7"]
    assert np.array_equal(found["k3"], arrays["k3"])
    bounded = type(cache)(tmp_path / "small.sqlite", limit_bytes=cache.size_bytes() // 2)
    for item in arrays.items():
        bounded.put([item])
    assert bounded.size_bytes() <= cache.size_bytes() // 2
    assert list(bounded.get(["k0", "k19"])) == ["k19"]
    (tmp_path / "damaged.sqlite").write_bytes(b"no base" * 100)
    with pytest.raises(InputError, match=r"damaged\.sqlite fails"):
        type(cache)(tmp_path / "damaged.sqlite")


def test_inputs_are_in_the_order_of_the_request_with_their_cameras() -> None:
    wanted, some = NetworkInput(InputKind.STATISTICS), samples()
    one = measure_inputs(some.images, some.pair_ids, some.reference_ids, wanted, input_cache())
    assert set(one.views.tolist()) == {CELL_VIEWS.index(View.TOP), CELL_VIEWS.index(View.SIDE)}
    direct = [wanted.measure(pair.distorted) for pair in some.images.read(some.pair_ids)]
    assert np.array_equal(one.values, np.stack(direct))


def test_too_few_references_and_unknown_names_give_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few references"):
        small("embodied-nr").train(samples(owners=REFERENCES[:3]), tmp_path, 0)
    with pytest.raises(UsageError, match=r"unknown metric to train; got .*available: embodied-nr"):
        trainable_by_name("embodied")
    with pytest.raises(UsageError, match="subjects only of embodied-nr and embodied-fr"):
        trainable_by_name("cnniqa:panel-vla-query")
    found = recipe_by_name("embodied-fr:panel-vla-query+x=openvla+http://host:1/act")
    assert found.input.subjects == ("panel-vla-query", "x=openvla+http://host:1/act")


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    small("embodied-nr", epochs=1).train(samples(), tmp_path / "metric", 0)
    network = tmp_path / "metric" / "network.onnx"
    content = network.read_bytes()
    network.write_bytes(content[:-1] + b"x")
    with pytest.raises(InputError, match="is not the one of its card"):
        TrainedMetric(tmp_path / "metric")
    network.write_bytes(content)
    card = (tmp_path / "metric" / "card.json").read_text()
    (tmp_path / "metric" / "card.json").write_text(card.replace('"fine 1', '"fine 0'))
    with pytest.raises(InputError, match="is measured otherwise"):
        TrainedMetric(tmp_path / "metric")
    with pytest.raises(InputError, match="cannot read the card"):
        TrainedMetric(tmp_path / "nothing")


def test_inference_needs_no_torch(tmp_path: Path) -> None:
    small("embodied-nr", epochs=1).train(samples(), tmp_path / "metric", 0)
    name = f"trained:{tmp_path / 'metric'}"
    code = (
        "import sys; sys.modules['torch'] = None; import numpy as np\n"
        "from embodied_iqa.quality.metrics.catalogue import metric_by_name\n"
        f"print(metric_by_name({name!r}).measure(np.zeros((60, 80, 3), np.uint8)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=TRIAL_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert np.isfinite(float(done.stdout))


def test_an_image_unlike_the_training_is_outside_and_ranks_keep_their_order_within_the_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training = small("embodied-nr", epochs=1)
    made = training.train(samples(), tmp_path / "metric", 0)
    stripes = np.zeros((96, 128, 3), np.uint8)
    stripes[:, ::2] = 255, 0, 128
    write_image(tmp_path / "images" / "stripes.png", stripes)
    (pair,) = NoisyImages([]).read(["r1-2"])
    write_image(tmp_path / "images" / "known.png", pair.distorted)
    with pytest.warns(UserWarning, match="outside training: the image is unlike those that trained:"):
        embodied_iqa.measure(stripes, metric=made)
    assert main(["metrics", "score", made, str(tmp_path / "images"), "--view", "side", "--json"]) == 0
    shown = capsys.readouterr()
    rows = {row["image"]: row["outside_training"] for row in json.loads(shown.out)["images"]}
    assert rows == {"known.png": False, "stripes.png": True}
    assert "outside training: 1 of 2 images are unlike those" in shown.err
    (tmp_path / "images" / "damaged.png").write_bytes(b"no image")
    assert main(["metrics", "score", made, str(tmp_path / "images"), "--view", "side"]) == 1
    assert "outside training: 1 of 2 images are unlike those" in capsys.readouterr().err
    (tmp_path / "metric" / RANGE_FILE).unlink()
    assert TrainedMetric(tmp_path / "metric").predict(stripes).outside_training is None
    far = np.array([-30.0, -0.37, 0.01, 0.05, 0.3, 0.95, 0.97, 1.3])
    held = held_in(far, 0.0, 1.0)
    assert (np.diff(held) > 0).all()
    assert ((held >= 0) & (held <= 1)).all()
    np.testing.assert_allclose(held[3:6], far[3:6])

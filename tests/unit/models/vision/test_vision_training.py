"""Training of the vision panel: repeatable, resumable, and exported as it was trained."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.base.training import onnx_writer
from embodied_iqa.base.training.training_state import EpochResult
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.panel_members import Augmentation
from embodied_iqa.models.subjects.backends.panel.format import shrink
from embodied_iqa.models.vision.reference import load_vision_models
from embodied_iqa.models.vision.samples import sample_store
from embodied_iqa.models.vision.samples.rendered import rendered_sample
from embodied_iqa.models.vision.samples.sample_store import (
    HELD_OUT,
    NO_INSTANCE,
    TRAINING,
    SampleStore,
    draw_part,
    part_folders,
)
from embodied_iqa.models.vision.samples.truth import COLOURED_CLASSES
from embodied_iqa.models.vision.training import batches, vision_members
from embodied_iqa.models.vision.training.batches import detection_batch
from embodied_iqa.models.vision.training.classifiers import Classifier
from embodied_iqa.models.vision.training.detectors import STRIDE
from embodied_iqa.models.vision.training.loop import Network, train_member
from embodied_iqa.models.vision.training.train_vision import export_network
from embodied_iqa.models.vision.training.vision_members import RECIPES, VisionRecipe, recipes_of
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

pytestmark = pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one part of 12 training samples."""
    folder = tmp_path_factory.mktemp("samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_store, "PART_IMAGES", 12)
        draw_part(folder / "part-0000", 70, 0, TRAINING)
    return folder


def small(name: str, **changes: object) -> VisionRecipe:
    """Return a member's recipe for a few samples and two epochs."""
    values: dict[str, object] = {"batch": 4, "epochs": 2, "augmentation": Augmentation.LIGHT}
    return dataclasses.replace(RECIPES[name], **(values | changes))  # type: ignore[arg-type]  # plain fields


def trained(recipe: VisionRecipe, stored: Path, folder: Path) -> tuple[Network, list[EpochResult]]:
    """Train on the stored samples."""
    return train_member(recipe, SampleStore(stored), folder, on_epoch=lambda _: None)


LEARNING = {"cls-residual-64": 20, "cls-vit-64": 14, "det-plain-160": 5, "ins-residual-192": 5}
"""Members that learn the few samples, and the epochs that they take."""
Learned = Callable[[str], tuple[Network, list[EpochResult]]]


@pytest.fixture(scope="module")
def learned(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Learned:
    """Returns a member, trained once for all tests, and its epochs; six of a member beyond `LEARNING`."""

    @cache
    def once(name: str) -> tuple[Network, list[EpochResult]]:
        recipe = small(name, epochs=6)
        if name in LEARNING:
            recipe = small(name, epochs=LEARNING[name], augmentation=Augmentation.NONE)
        return trained(recipe, stored, tmp_path_factory.mktemp("state") / name)

    return once


def test_samples_are_stored_with_their_truth(stored: Path) -> None:
    store = SampleStore(stored)
    sample = rendered_sample(71, View.TOP)
    index = len(CELL_VIEWS) + CELL_VIEWS.index(View.TOP)
    truth = store.instances(index)
    assert truth.labels == sample.instances.labels
    assert truth.masks is not None
    assert sample.instances.masks is not None
    assert truth.crowd is not None
    np.testing.assert_array_equal(truth.boxes_px, sample.instances.boxes_px)
    np.testing.assert_array_equal(truth.masks, sample.instances.masks)
    np.testing.assert_array_equal(store.image(index), shrink(sample.rgb, (320, 240)))
    rows = np.flatnonzero(store.image_of == index)
    assert COLOURED_CLASSES[store.coloured[rows[store.main[rows]]][0]] == sample.main_class
    part = store.instance_map(index)
    assert set(np.unique(part)) <= {*range(len(truth)), NO_INSTANCE}


def test_fewer_samples_are_the_first_ones(stored: Path) -> None:
    whole, few = SampleStore(stored), SampleStore(stored, 5)
    assert (len(whole), len(few)) == (12, 5)
    np.testing.assert_array_equal(few.boxes, whole.boxes[whole.image_of < 5])
    assert [first for _, first in part_folders(stored, 61)] == [0, 30, 60]


def test_broken_samples_are_reported(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no vision samples in"):
        SampleStore(tmp_path)
    shutil.copytree(stored / "part-0000", tmp_path / "part-0000")
    (tmp_path / "part-0000" / "crops.npy").write_bytes(b"broken")
    with pytest.raises(InputError, match="broken vision samples in"):
        SampleStore(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setattr(sample_store, "PART_IMAGES", 1)
    with pytest.raises(InputError, match="cannot write"):
        draw_part(tmp_path / "file" / "part-0000", 70, 0, TRAINING)


def test_recipes() -> None:
    assert len(recipes_of(())) == 20
    assert len({recipe.seed for recipe in recipes_of(())}) == 20
    (recipe,) = recipes_of(["det-plain-160"], images=40, seed=3)
    assert (recipe.images, recipe.seed) == (40, 3201)
    with pytest.raises(UsageError, match="unknown member of the vision panel; got 'nobody'; available"):
        recipes_of(["nobody"])


@pytest.mark.parametrize("mirrored", [False, True])
def test_targets_are_at_the_objects(stored: Path, mirrored: bool) -> None:
    recipe = small("ins-plain-160", augmentation=Augmentation.NONE)
    store = SampleStore(stored)
    rng = np.random.default_rng(1)
    image = batches._Image(store, 1, recipe.input_px, mirror=mirrored)
    centre, counted, kind, boxes = image.targets()
    for box, number, crowd in zip(image.boxes, image.kinds, image.crowd, strict=True):
        column, row = ((box[:2] + box[2:]) / 2 // STRIDE).astype(int)
        if crowd:
            assert counted[row, column] == 0
        elif (boxes[row, column] == box).all():  # not covered by another centre in the same cell
            assert centre[row, column] == 1
            assert kind[row, column] == number
    assert (kind[centre < 0.3] == -1).all()
    batch = detection_batch(store, np.arange(4), recipe, rng)
    assert len(batch.shapes) == len(batch.shape_cells) > 0
    for (number, row, column), shape in zip(batch.shape_cells.tolist(), batch.shapes, strict=True):
        left, top, right, bottom = batch.boxes[number, row, column].tolist()
        rows, columns = np.nonzero(shape.numpy())
        if len(rows):
            assert left - 2 <= 2 * columns.min()
            assert 2 * columns.max() <= right + 2
            assert top - 2 <= 2 * rows.min()
            assert 2 * rows.max() <= bottom + 2


@pytest.mark.parametrize("size_px", [(160, 120), (224, 168)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_masks_to_learn_lie_where_the_objects_are(
    stored: Path, size_px: tuple[int, int], mirrored: bool
) -> None:
    """A mask that is off by half a place of the prototypes costs small objects a fifth of their overlap."""
    store = SampleStore(stored)
    masks = store.instances(1).masks
    assert masks is not None
    image = batches._Image(store, 1, size_px, mirror=mirrored)
    for number, mask in enumerate(masks):
        covered = image.coverage(number) / 255
        places_px = [length / places for length, places in zip(mask.shape, covered.shape, strict=True)]
        assert covered.sum() * np.prod(places_px) == pytest.approx(mask.sum(), rel=0.02, abs=8)
        middle_px = _middle(covered) * places_px
        np.testing.assert_allclose(middle_px, _middle(mask[:, :: -1 if mirrored else 1]), atol=0.3)


def _middle(mask: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return row and column of the centre of mass, in elements from the edge."""
    rows, columns = (np.arange(length) + 0.5 for length in mask.shape)
    return np.array([rows @ mask.sum(1), mask.sum(0) @ columns]) / mask.sum()


def test_a_batch_learns_a_part_of_many_masks(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, store = small("ins-plain-160"), SampleStore(stored)
    whole = detection_batch(store, np.arange(8), recipe, np.random.default_rng(1))
    monkeypatch.setattr(batches, "_MOST_MASKS", 10)
    part = detection_batch(store, np.arange(8), recipe, np.random.default_rng(1))
    assert len(whole.shapes) > len(part.shapes) == len(part.shape_cells) == 10
    assert len(set(part.shape_cells[:, 0].tolist())) > 3  # of all images, not the first ones


@pytest.mark.parametrize("name", LEARNING)
def test_few_samples_are_learned(name: str, learned: Learned) -> None:
    _, results = learned(name)
    assert len(results) == LEARNING[name]
    assert results[-1].loss < 0.6 * results[0].loss


@pytest.mark.parametrize("name", ["cls-residual-64", "ins-mixer-192"])
def test_a_stopped_training_ends_with_the_same_weights(name: str, stored: Path, tmp_path: Path) -> None:
    recipe, store = small(name, epochs=3), SampleStore(stored)
    whole, _ = trained(recipe, stored, tmp_path / "whole")
    train_member(recipe, store, tmp_path / "parts", on_epoch=lambda _: None, last_epoch=1)
    parts, results = trained(recipe, stored, tmp_path / "parts")
    assert [result.epoch for result in results] == [1, 2, 3]
    theirs = parts.state_dict()
    for key, weight in whole.state_dict().items():
        assert torch.equal(weight, theirs[key]), key
    with pytest.raises(UsageError, match=r"another plan: .*seed is \d+ there, 9 asked"):
        trained(small(name, epochs=3, seed=9), stored, tmp_path / "parts")


@pytest.mark.parametrize(
    "name", ["cls-vit-64", "cls-convmixer-80", "det-depthwise-224", "ins-plain-160", "ins-residual-192"]
)
def test_the_exported_network_equals_the_trained_one(
    name: str, stored: Path, learned: Learned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_writer, "_LARGE", 10**9)  # no weight in half precision
    recipe, store = RECIPES[name], SampleStore(stored)
    network, _ = learned(name)
    export_network(network, recipe.input_px, tmp_path / "network.onnx")
    session = open_session((tmp_path / "network.onnx").read_bytes(), name)
    images = np.stack([shrink(store.image(index), recipe.input_px) for index in (0, 4, 5)])
    with torch.no_grad():
        expected = network(torch.from_numpy(images))
    expected = [expected] if isinstance(network, Classifier) else list(expected)
    found = session.run(None, {"images": images})
    assert len(found) == len(expected) == {"c": 1, "d": 3, "i": 4}[name[0]]
    rows = np.full(found[0].shape, fill_value=True)
    if len(found) > 1:  # where scores are equal, the order is not defined
        steps = np.pad(np.diff(found[0]), ((0, 0), (1, 1)), constant_values=-1)
        rows = (steps[:, 1:] < -1e-6) & (steps[:, :-1] < -1e-6)
        assert rows.sum() > 10
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours[rows], theirs.numpy()[rows], atol=1e-4, rtol=1e-4)


def test_the_command(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trains members, says how good they are, and does not train them again."""
    out = tmp_path / "out"
    shutil.copytree(stored / "part-0000", out / "train" / "seed-1" / "part-0000")
    monkeypatch.setattr(sample_store, "PART_IMAGES", 6)
    draw_part(out / "held-out" / "seed-1" / "part-0000", 80, 0, HELD_OUT)
    words = ["train", "vision-panel", "--out", str(out), "--quick", "--samples", "6", "--json", "--members"]
    monkeypatch.setattr(vision_members, "_HELD_OUT_IMAGES", 6)
    monkeypatch.setattr(vision_members, "_QUICK_HELD_OUT", 6)
    members = ["cls-plain-48", "det-plain-160", "ins-plain-160"]
    assert main([*words, ",".join(members)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in record["members"]] == members
    assert all(0 <= row["low"] <= row["main"] <= row["high"] <= 1 for row in record["members"])
    written = {path: path.read_bytes() for path in (out / "models").iterdir()}
    changed = {path: path.stat().st_mtime_ns for path in written}
    assert len(written) == 6
    assert [model.info.name for model in load_vision_models(f"panel:{out}")] == members
    (out / "models" / "cls-plain-48.onnx").write_bytes(b"damaged")
    assert main([*words, ",".join(members)]) == 0
    capsys.readouterr()
    assert {path: path.read_bytes() for path in (out / "models").iterdir()} == written
    again = {path.stem for path, moment in changed.items() if path.stat().st_mtime_ns != moment}
    assert again == {"cls-plain-48"}
    assert main([*words[:4], "--samples", "5", "--quick", "--members", "cls-plain-48"]) == 2
    assert "holds another plan: " in capsys.readouterr().err


def test_one_training_works_in_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with JobFolder(tmp_path, "training of the vision panel").locked():
        assert main(["train", "vision-panel", "--out", str(tmp_path)]) == 1
    assert "another training of the vision panel works in" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize(
    "words", [["--members", "nobody"], ["--samples", "0"], ["--workers", "0"], ["--seed", "-1"]]
)
def test_wrong_words_are_a_usage_error(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "vision-panel", "--out", str(tmp_path / "out"), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())

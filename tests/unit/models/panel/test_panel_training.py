"""Training of the panel: learns, resumes to the same weights, exports what it trained."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.image_formats import FORMATS, SMALL_CLOSE, SMALL_WHOLE, ImageFormat
from embodied_iqa.models.panel.panel_members import RECIPES, Augmentation, Recipe, quick, recipe_of
from embodied_iqa.models.panel.samples.sample_files import (
    MAX_THINGS,
    Samples,
    TaskLabels,
    load_samples,
    ranked_file,
    save_ranked,
    save_samples,
)
from embodied_iqa.models.panel.training.augmentation import augment
from embodied_iqa.models.panel.training.batches import TrainingData, answers_of, expert_plan
from embodied_iqa.models.panel.training.encoders import GRID
from embodied_iqa.models.panel.training.glimpses import NOTHING, Glimpses, Look
from embodied_iqa.models.panel.training.member_training import SampleOrigin, TrainingFolders, train_and_export
from embodied_iqa.models.panel.training.training_loop import train_member
from embodied_iqa.models.subjects.backends.panel.format import Framing, framed
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.models.subjects.model_card import load_card
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Verb

COLOURS = {Colour.RED: (200, 20, 20), Colour.BLUE: (20, 40, 200)}
ORIGIN = SampleOrigin(1, 2, (480, 360), "test", quick=True)


def test_the_card_of_a_shipped_member_says_what_its_recipe_says() -> None:
    summaries = {name: load_card(MODELS / f"{name}.json").summary for name in RECIPES}
    assert summaries == {name: recipe.summary for name, recipe in RECIPES.items()}


def _samples(n: int, seed: int = 0, kind_of_image: ImageFormat | None = None) -> Samples:
    """Painted scenes: a red and a blue square, and one task for each; as the simulator would store them."""
    rng = np.random.default_rng(seed)
    width, height = 640, 480
    images = np.full((n, height, width, 3), 120, np.uint8)
    kind, colour = np.full((n, MAX_THINGS), -1), np.full((n, MAX_THINGS), -1)
    place = np.zeros((n, MAX_THINGS, 3), np.float32)
    mark = np.full((n, MAX_THINGS, len(CELL_VIEWS), 2), -1.0, np.float32)
    for scene in range(n):
        for index, (name, rgb) in enumerate(COLOURS.items()):
            u, v = rng.uniform(0.25, 0.6), rng.uniform(0.55, 0.85)  # in the images of all formats
            x, y = int(u * width), int(v * height)
            images[scene, y - 20 : y + 20, x - 20 : x + 20] = rgb
            kind[scene, index], colour[scene, index] = list(Kind).index(Kind.BALL), list(Colour).index(name)
            place[scene, index] = -0.68 + 0.3 * v, 0.25 - 0.5 * u, 0.0
            mark[scene, index] = u, v
    ball, none = list(Kind).index(Kind.BALL), [-1] * 6
    wanted = np.array([[list(Colour).index(name), ball, *none] for name in COLOURS])
    shown: tuple[np.ndarray, ...] = ()
    if kind_of_image is not None:
        shown = tuple(_formatted(images, view, kind_of_image) for view in CELL_VIEWS)
    return Samples(
        views=CELL_VIEWS,
        images=shown,
        tasks=tuple(("pick the red ball", "pick the blue ball") for _ in range(n)),
        verb=np.full((n, 2), list(Verb).index(Verb.PICK)),
        target=np.tile([0, 1], (n, 1)),
        goal=np.full((n, 2), -1),
        wanted=np.tile(wanted, (n, 1, 1)),
        thing_kind=kind,
        thing_colour=colour,
        thing_print=np.full_like(kind, -1),
        thing_size=np.full_like(kind, -1),
        thing_place=place,
        thing_mark=mark,
        framing=Framing.WHOLE if kind_of_image is None else kind_of_image.framing,
    )


def _formatted(images: np.ndarray, view: View, kind: ImageFormat) -> np.ndarray:
    return np.stack([framed(image, view, kind.framing, kind.size_px) for image in images])


def _recipe(name: str, **changes: object) -> Recipe:
    settings: dict[str, object] = {"batch": 8, "epochs": 2, "ranked_epochs": 1, "tasks": 2}
    settings["augmentation"] = Augmentation.NONE
    return dataclasses.replace(recipe_of(name), **settings | changes)


def _save(n: int, part: Path, seed: int = 0) -> None:
    """Store a part with tasks of rank 2 for every camera: the red ball, by what stands beside it."""
    samples = _samples(n, seed)
    formatted = {kind: _samples(n, seed, kind).images for kind in dict.fromkeys(kind for _, kind in FORMATS)}
    shown = {(view, kind): formatted[kind][CELL_VIEWS.index(view)] for view, kind in FORMATS}
    save_samples(samples, shown, part)
    ranked = TaskLabels(
        tuple(("pick the ball beside the blue one",) for _ in range(n)),
        *(labels[:, :1] for labels in (samples.verb, samples.target, samples.goal, samples.wanted)),
    )
    for view in CELL_VIEWS:
        save_ranked([ranked], ranked_file(part, view))


def _data(recipe: Recipe, n: int) -> TrainingData:
    samples = _samples(n, kind_of_image=recipe.images)
    order = [CELL_VIEWS.index(view) for view in recipe.views]
    images, marks = tuple(samples.images[i] for i in order), samples.thing_mark[:, :, order]
    own = dataclasses.replace(samples, views=recipe.views, images=images, thing_mark=marks)
    return TrainingData(own, recipe.style)


@pytest.mark.parametrize("name", RECIPES)
def test_every_member_makes_a_step_downhill(name: str, tmp_path: Path) -> None:
    recipe = _recipe(name, epochs=1)
    _, results = train_member(recipe, _data(recipe, 16), tmp_path / "state", lambda _: None)
    assert len(results) == 2
    assert results[-1].loss < results[0].loss


def test_it_overfits_a_few_scenes(tmp_path: Path) -> None:
    recipe = _recipe("panel-vla-object", epochs=25, ranked_epochs=0, tasks=2, rate=3e-3)
    data = _data(recipe, 8)
    network, results = train_member(recipe, data, tmp_path / "state", lambda _: None)
    assert results[-1].loss < 0.5 * results[0].loss
    batch = data.batch(np.arange(8), np.tile([0, 1], (8, 1)))
    with torch.no_grad():
        said = network(batch.images, batch.tasks)
    assert bool(((said.more > 0).sum(1) == batch.length).all())


def test_a_stopped_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    recipe = _recipe("panel-vlm-plain", augmentation=Augmentation.LIGHT)
    data = _data(recipe, 16)
    whole, _ = train_member(recipe, data, tmp_path / "whole", lambda _: None)
    train_member(recipe, data, tmp_path / "parts", lambda _: None, stop_after=1)
    reported: list[int] = []
    parts, _ = train_member(recipe, data, tmp_path / "parts", lambda result: reported.append(result.epoch))
    assert reported == [1, 2, 3]
    theirs = parts.state_dict()
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, theirs[name]), name


def test_a_checkpoint_that_was_being_replaced_is_found(tmp_path: Path) -> None:
    recipe = _recipe("panel-vla-object", epochs=1)
    data = _data(recipe, 8)
    train_member(recipe, data, tmp_path / "state", lambda _: None, stop_after=1)
    (tmp_path / "state").rename(tmp_path / ".state.old")  # killed between the two renames
    reported: list[int] = []
    train_member(recipe, data, tmp_path / "state", lambda result: reported.append(result.epoch))
    assert reported == [1, 2]


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path: Path) -> None:
    recipe = _recipe("panel-vla-object", epochs=1)
    data = _data(recipe, 8)
    train_member(recipe, data, tmp_path / "state", lambda _: None)
    with pytest.raises(UsageError, match=r"another plan: .*seed is .* there, 99 asked"):
        train_member(_recipe("panel-vla-object", seed=99), data, tmp_path / "state", lambda _: None)
    (tmp_path / "state" / "state.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match="broken checkpoint"):
        train_member(recipe, data, tmp_path / "state", lambda _: None)


@pytest.mark.parametrize("name", ["panel-vla-hand", "panel-vlm-side"])
def test_a_training_ends_with_a_network_and_its_card(name: str, tmp_path: Path) -> None:
    _save(8, tmp_path / "train" / "part-000")
    _save(4, tmp_path / "test" / "part-000", seed=1)
    folders = TrainingFolders(*(tmp_path / word for word in ("train", "test", "work", "models")))
    recipe = _recipe(name, epochs=1, scenes=8)
    card = train_and_export(recipe, ORIGIN, folders)
    assert load_card(tmp_path / "models" / f"{name}.json") == card
    assert card.results["tasks"] == 8.0
    assert (tmp_path / "work" / f"{name}.svg").read_text().startswith("<svg")
    member = LearnedVla(folders.models, name) if recipe.is_vla else LearnedVlm(folders.models, name)
    assert member.info.version == card.version


def test_what_is_exported_is_what_was_trained(tmp_path: Path) -> None:
    _save(8, tmp_path / "train" / "part-000")
    folders = TrainingFolders(tmp_path / "train", tmp_path / "train", tmp_path / "work", tmp_path / "models")
    recipe = _recipe("panel-vla-query", epochs=1, scenes=8)
    train_and_export(recipe, ORIGIN, folders)
    samples = load_samples(tmp_path / "train", recipe.views, recipe.images, worded_for=View.TOP)
    data = TrainingData(samples, None)
    network, _ = train_member(recipe, data, folders.work / recipe.name, lambda _: None)
    batch = data.batch(np.array([3]), np.array([[1]]))
    with torch.no_grad():
        said = network(batch.images, batch.tasks)
    plan = LearnedVla(folders.models, recipe.name).plan([data.samples.images[0][3]], "pick the blue ball")
    seen = float(said.seen.sigmoid()[0])
    assert plan.seen == pytest.approx(seen, abs=2e-3), "but for weights in half precision"


def test_harder_tasks_come_after_the_plain_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _save(8, tmp_path / "part-000")
    recipe = _recipe("panel-vla-object", epochs=2, ranked_epochs=2)
    samples = load_samples(tmp_path, recipe.views, recipe.images, worded_for=View.TOP)
    data = TrainingData(samples, None)
    asked: list[int] = []
    batch = data.batch

    def noted(scenes: np.ndarray, tasks: np.ndarray, *more: object) -> object:
        asked.append(int(tasks.max()))
        return batch(scenes, tasks, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(data, "batch", noted)
    train_member(recipe, data, tmp_path / "state", lambda _: None)
    assert data.samples.tasks[0][2] == "pick the ball beside the blue one"
    assert asked == [1, 1, 2, 2]


def test_labels_are_the_expert_and_the_truth() -> None:
    samples = _samples(3)
    plan = expert_plan(samples, 1, 0)
    np.testing.assert_allclose(plan[1, :2], samples.thing_place[1, 0, :2], atol=1e-6)
    style = recipe_of("panel-vlm-fine").style
    assert style is not None
    assert "red ball" in answers_of(samples, 0, style)[1][0]


def test_the_second_thing_of_an_answer_is_the_neighbour_that_it_names() -> None:
    recipe = recipe_of("panel-vlm-fine")
    data = _data(recipe, 5)
    batch = data.batch(np.arange(5), np.tile([0, 1], (5, 1)))
    assert batch.wanted[:, :, 0].tolist() == [[0, 1], [1, 0]] * 5
    acting = TrainingData(data.samples, None).batch(np.arange(5), np.tile([0, 1], (5, 1)))
    assert bool((acting.wanted[:, 1] == -1).all())


def test_training_looks_near_objects_and_where_nothing_is() -> None:
    data = _data(_recipe("panel-vla-side"), 6)
    batch = data.batch(np.arange(6), np.zeros((6, 1), np.int64), rng=np.random.default_rng(3))
    near = (batch.spots[0][:, :2] - batch.thing_marks[:, :2, 0]).abs()
    assert float(near.max()) < 0.05
    assert float(batch.spots[0][:, 2:].std()) > 0.2


def test_each_object_is_found_once() -> None:
    """Cells beside a likely one point at the same object; they do not take the places of other objects."""
    objects = [(3, 4), (3, 8), (9, 15)]
    heat = torch.full((1, 3, *GRID), -9.0)
    heat[:, 1:] = 0.0
    for number, (row, column) in enumerate(objects):
        for down, right in itertools.product((-1, 0, 1), repeat=2):
            cell = torch.tensor([5.0 - number, -9.0 * right, -9.0 * down])
            heat[0, :, row + down, column + right] = cell
        heat[0, 0, row, column] += 1.0
    places = Glimpses(8, Look.COARSE, context=False).peaks(heat)[0]
    expected = [((column + 0.5) / GRID[1], (row + 0.5) / GRID[0]) for row, column in objects]
    torch.testing.assert_close(places[:3], torch.tensor(expected))
    away = torch.cdist(places[3:], torch.tensor(expected)).min()
    assert float(away) > 0.04


def test_an_object_that_an_image_does_not_show_is_nothing() -> None:
    samples = _data(_recipe("panel-vla-object"), 2).samples
    samples.thing_mark[0, 0] = -1.0
    batch = TrainingData(samples, None).batch(np.arange(2), np.zeros((2, 1), np.int64))
    assert batch.wanted[:, 0, 0].tolist() == [NOTHING, 0]
    assert batch.seen.tolist() == [False, True]


def test_augmentation_changes_images_but_not_the_originals() -> None:
    images = _samples(4, kind_of_image=SMALL_WHOLE).images[0]
    before = images.copy()
    changed = augment(images, Augmentation.STRONG, np.random.default_rng(0))
    again = augment(images, Augmentation.STRONG, np.random.default_rng(0))
    assert np.array_equal(images, before)
    assert np.array_equal(changed, again)
    assert (changed != images).mean() > 0.3
    assert augment(images, Augmentation.NONE, np.random.default_rng(0)) is images


def test_parts_are_read_in_order_and_up_to_a_limit(tmp_path: Path) -> None:
    first, second = _samples(3, seed=1), _samples(2, seed=2)
    for samples, name in ((first, "part-000"), (second, "part-001")):
        shown = {(View.SIDE, SMALL_CLOSE): np.zeros((len(samples), 180, 240, 3), np.uint8)}
        save_samples(samples, shown, tmp_path / name)
    read = load_samples(tmp_path, [View.SIDE], SMALL_CLOSE, 4)
    assert len(read) == 4
    np.testing.assert_array_equal(read.thing_mark[3, :, 0], second.thing_mark[0, :, 2])
    with pytest.raises(InputError, match="no training samples"):
        load_samples(tmp_path / "nowhere", [View.TOP], SMALL_WHOLE)


def test_members_differ() -> None:
    assert sum(recipe.is_vla for recipe in RECIPES.values()) >= 5
    assert sum(not recipe.is_vla for recipe in RECIPES.values()) >= 5
    assert len({recipe.seed for recipe in RECIPES.values()}) == len(RECIPES)
    acting = [view for recipe in RECIPES.values() if recipe.is_vla for view in recipe.views]
    assert all(acting.count(view) >= 2 for view in CELL_VIEWS), "their agreement is defined for each camera"
    assert len({recipe.images for recipe in RECIPES.values()}) == 3
    assert len({(recipe.encoder, recipe.look, recipe.context) for recipe in RECIPES.values()}) >= 5
    assert all(quick(recipe).scenes < recipe.scenes for recipe in RECIPES.values())

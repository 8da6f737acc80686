"""RA-MIQA and its baselines: tokens, the frozen encoder, starting weights, resuming, export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.training.exporting import export_network
from embodied_iqa.quality.metrics.training.loop import (
    LabelledInputs,
    MetricEpoch,
    TrainingRun,
    label_scale,
    make_network,
    predict,
    train_network,
)
from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining
from embodied_iqa.quality.metrics.training.miqa_networks import RegionAware
from embodied_iqa.quality.metrics.training.miqa_recipes import MIQA_RECIPES, region_plan, with_region_layer
from embodied_iqa.quality.metrics.training.recipes import (
    MetricRecipe,
    RegionEncoderPlan,
    RegionSource,
    TransformerSize,
    recipe_by_name,
)
from embodied_iqa.quality.metrics.training.region_encoder import ENCODER_FILE, train_region_encoder
from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights, load_weights
from embodied_iqa.quality.metrics.training.transformer import VisionTransformer
from tiny_miqa import CROP_PX, SIZE, SQUARE_PX, Noisy, encoder_file, samples, tiny


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # networks this small are slower on more
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def squares(count: int, seed: int = 0) -> LabelledInputs:
    """Return noise images whose label is the share of the noise."""
    rng = np.random.default_rng(seed)
    labels = rng.uniform(0, 1, count)
    noise = rng.normal(0, 90, (count, SQUARE_PX, SQUARE_PX, 3)) * labels[:, None, None, None]
    images = np.clip(128 + noise, 0, 255).astype(np.uint8)
    return LabelledInputs(images, np.zeros(count, np.int64), labels)


def network_of(recipe: MetricRecipe) -> RegionAware:
    network = make_network(recipe, 0)
    assert isinstance(network, RegionAware)
    return network


def silent(_: MetricEpoch) -> None:
    pass


def test_every_token_has_its_own_position_embedding() -> None:
    network = network_of(tiny()).eval()
    with torch.no_grad():
        network.backbone.cls_token.fill_(0.0)
        network.backbone.patch_embed.proj.weight.zero_()
        network.backbone.patch_embed.proj.bias.zero_()
        network.project[1].weight.zero_()  # the layer norm before the GELU
    tokens = network.sequence(torch.zeros(1, 3, SQUARE_PX, SQUARE_PX))
    assert tokens.shape == (1, 1 + 1 + (CROP_PX // 16) ** 2, SIZE.dim)
    assert tokens[:, 0].equal(network.region_pos[:, 0])
    assert tokens[:, 1].equal(network.backbone.pos_embed[:, 0])  # of the class token
    assert tokens[:, 2:].equal(network.backbone.pos_embed[:, 1:])


def test_the_class_token_keeps_the_embedding_of_a_file_in_the_names_of_timm(tmp_path: Path) -> None:
    other = VisionTransformer(SIZE, 64)  # a grid of 4 x 4 instead of 2 x 2
    stored = {f"module.{name}": value for name, value in other.state_dict().items()}
    stored |= {"module.head.weight": torch.zeros(10, 32), "module.head.bias": torch.zeros(10)}
    save_file(stored, tmp_path / "vit.safetensors")
    network = network_of(tiny())
    load_weights(network.backbone, tmp_path / "vit.safetensors")
    assert network.backbone.pos_embed[:, 0].equal(other.pos_embed[:, 0])
    assert network.backbone.cls_token.equal(other.cls_token)
    assert network.backbone.blocks[1].attn.qkv.weight.equal(other.blocks[1].attn.qkv.weight)
    assert network.backbone.pos_embed.shape == (1, 5, 32)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    network = network_of(tiny())
    save_file(VisionTransformer(replace(SIZE, dim=64), CROP_PX).state_dict(), tmp_path / "wide.safetensors")
    with pytest.raises(InputError, match=r"another network; expected cls_token \(1, 1, 32\)"):
        load_weights(network.backbone, tmp_path / "wide.safetensors")
    more = VisionTransformer(replace(SIZE, blocks=3), CROP_PX).state_dict()
    save_file(more, tmp_path / "deep.safetensors")
    with pytest.raises(InputError, match=r"got 'blocks\.2"):
        load_weights(network.backbone, tmp_path / "deep.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot read the weights"):
        load_weights(network.backbone, tmp_path / "broken.safetensors")
    with pytest.raises(InputError, match="cannot read"):
        StartingWeights(tmp_path / "missing.safetensors").record()


def test_the_region_encoder_stays_as_it_was_and_deterministic(tmp_path: Path) -> None:
    run = TrainingRun(tiny(), 0, tmp_path / "state", {}, StartingWeights(region=encoder_file(tmp_path)))
    network, _ = train_network(run, squares(32), squares(16, 1), silent)
    torch.manual_seed(3)
    before = VisionTransformer(SIZE, SQUARE_PX).state_dict()
    assert isinstance(network, RegionAware)
    assert network.encoder is not None
    for name, value in network.encoder.state_dict().items():
        assert value.equal(before[name]), name
    network.train()
    assert not any(module.training for module in network.encoder.modules())
    assert network.head.training
    planes = torch.rand(2, 3, SQUARE_PX, SQUARE_PX)
    assert network.encoder.patch_map(planes).equal(network.encoder.patch_map(planes))


def test_it_learns_64_images_by_heart(tmp_path: Path) -> None:
    recipe, training = tiny(epochs=40), squares(64)
    recipe = replace(recipe, patience=40, network=replace(recipe.network, crop_px=SQUARE_PX))  # type: ignore[type-var]
    run = TrainingRun(recipe, 0, tmp_path / "state", {}, StartingWeights(region=encoder_file(tmp_path)))
    network, epochs = train_network(run, training, training, silent)
    found = predict(network, training)[:, 1]
    assert np.corrcoef(found, training.labels)[0, 1] > 0.97
    assert epochs[-1].loss < 0.2 * epochs[0].loss


def test_a_stopped_training_has_the_same_curve_and_weights(tmp_path: Path) -> None:
    recipe, starting = tiny(epochs=3), StartingWeights(region=encoder_file(tmp_path))
    parts = squares(32), squares(16, 1)
    whole = train_network(TrainingRun(recipe, 1, tmp_path / "a", {}, starting), *parts, silent)
    run = TrainingRun(recipe, 1, tmp_path / "b", {}, starting)
    train_network(run, *parts, silent, stop_after=1)
    resumed = train_network(run, *parts, silent)
    assert resumed[1] == whole[1]
    for name, weight in whole[0].state_dict().items():
        assert weight.equal(resumed[0].state_dict()[name]), name


def test_the_layer_of_the_region_token_is_a_choice() -> None:
    planes = torch.rand(1, 3, SQUARE_PX, SQUARE_PX)
    encoder = VisionTransformer(SIZE, SQUARE_PX)
    assert not encoder.patch_map(planes, 1).equal(encoder.patch_map(planes, 2))
    torch.testing.assert_close(encoder.norm(encoder.patch_map(planes, 2)), encoder.patch_map(planes))
    third = with_region_layer(MIQA_RECIPES["ra-miqa"], "3")
    assert third.network is not None
    assert third.network.region == RegionSource(TransformerSize(384, 12, 6), 3)
    assert with_region_layer(third, "last") == MIQA_RECIPES["ra-miqa"]
    ablation = with_region_layer(MIQA_RECIPES["ra-miqa-small"], "none")
    assert ablation.network == MIQA_RECIPES["ra-miqa-small-without-region"].network
    assert region_plan(with_region_layer(third, "none"), 0) is None
    assert region_plan(ablation, 0) == region_plan(MIQA_RECIPES["ra-miqa-small"], 0)  # both begin with it
    with pytest.raises(UsageError, match="expected 1 to 12, last or none; got '13'"):
        with_region_layer(MIQA_RECIPES["ra-miqa"], "13")
    with pytest.raises(UsageError, match="resnet18 has no region token"):
        with_region_layer(MIQA_RECIPES["resnet18"], "last")


def test_crops_are_random_in_training_and_central_else() -> None:
    network = network_of(tiny("ra-miqa-small-without-region"))
    planes = torch.arange(SQUARE_PX**2, dtype=torch.float32).reshape(1, 1, SQUARE_PX, SQUARE_PX)
    planes = planes.expand(8, 3, -1, -1)
    torch.manual_seed(0)
    corners = {float(value) for value in network.train().cropped(planes)[:, 0, 0, 0]}
    assert len(corners) > 4
    assert network.eval().cropped(planes)[:, 0, 0, 0].unique().tolist() == [8.0 * SQUARE_PX + 8]


NAMES = ("ra-miqa-small", "ra-miqa-small-without-region", "resnet18")


@pytest.mark.parametrize("name", NAMES)
def test_the_exported_network_equals_torch(name: str, tmp_path: Path) -> None:
    region = encoder_file(tmp_path) if name == "ra-miqa-small" else None
    run = TrainingRun(tiny(name, epochs=1), 0, tmp_path / "state", {}, StartingWeights(region=region))
    training, inputs = squares(32), squares(6, 4)
    network, _ = train_network(run, training, squares(16, 1), silent)
    mean, deviation = label_scale(training.labels)
    export_network(network, training, (mean, deviation), tmp_path / "network.onnx", ranks=False)
    session = open_session((tmp_path / "network.onnx").read_bytes(), name)
    rank, label = session.run(["rank", "label"], {"input": inputs.values, "view": inputs.views})
    np.testing.assert_allclose(label, predict(network, inputs)[:, 1] * deviation + mean, atol=1e-5)
    np.testing.assert_array_equal(rank, label)


def test_a_metric_is_trained_with_the_encoder_of_a_file_and_known_by_its_hash(tmp_path: Path) -> None:
    starting = StartingWeights(region=encoder_file(tmp_path))
    training = RecipeTraining(tiny(epochs=1), target="miqa:noise", starting=starting)
    made = training.train(samples(), tmp_path / "metric", 0)
    metric = TrainedMetric(tmp_path / "metric")
    assert metric.card.training["region_weights"] == starting.record()["region_weights"]
    (pair,) = Noisy().read(["3-2"])
    assert metric_by_name(made).measure(pair.distorted) == metric.predict(pair.distorted).rank
    other = replace(training, starting=StartingWeights(region=encoder_file(tmp_path, seed=4)))
    with pytest.raises(UsageError, match="another plan: region_weights have changed since"):
        other.train(samples(), tmp_path / "metric", 0)
    with pytest.raises(UsageError, match="weights of a region encoder"):
        replace(other, recipe=tiny("resnet18")).train(samples(), tmp_path / "resnet", 0)


@pytest.mark.parametrize("name", MIQA_RECIPES)
def test_every_recipe_has_a_network_of_its_input(name: str) -> None:
    recipe = recipe_by_name(name)
    assert recipe is MIQA_RECIPES[name]
    assert recipe.network is not None
    assert recipe.network.crop_px < recipe.input.size_px[0] == recipe.input.size_px[1]
    assert {"ra-miqa": 12, "ra-miqa-small": 4}.get(name, 0) in {
        0,
        getattr(recipe.network.transformer, "blocks", 0),
    }


def test_a_region_encoder_learns_to_segment_and_resumes_to_the_same_weights(tmp_path: Path) -> None:
    plan = RegionEncoderPlan(SIZE, SQUARE_PX, scenes=6, epochs=2, seed=1)
    losses: list[float] = []
    card = train_region_encoder(plan, tmp_path / "a", lambda one: losses.append(one.loss))
    assert losses[1] < losses[0]
    assert 0.0 <= card.mean_iou <= 1.0
    assert (card.images, card.held_out_images) == (15, 3)
    load_weights(VisionTransformer(SIZE, SQUARE_PX), tmp_path / "a" / ENCODER_FILE)
    assert train_region_encoder(plan, tmp_path / "a", lambda _: pytest.fail("trained again")) == card

"""`embodied-nr:SUBJECT`: features of a subject beside the statistics, from training to the export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.learned import inputs
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.learned.tokens import CELLS, CHANNELS, TOKEN_VALUES, token_cells
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.metric import MetricContext, Needs
from embodied_iqa.quality.metrics.policy.distance import PolicyDistance
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.metric_training import RecipeTraining
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name
from embodied_iqa.quality.metrics.training.token_networks import TokenDistances
from embodied_iqa.world.protocols import SubjectInfo

CLEAN = np.random.default_rng(0).integers(90, 160, (180, 240, 3), dtype=np.uint8)


class Eye:
    """A subject whose tokens are the colours of a grid of 15 x 20 cells."""

    def __init__(self, name: str, view: View) -> None:
        self.info = SubjectInfo(name, "1", "averages colours", (view,))
        self.seen = 0

    def features(self, frame: Frame) -> NDArray[np.float32]:
        self.seen += 1
        means = frame.rgb.reshape(15, 12, 20, 12, 3).mean((1, 3), dtype=np.float32)
        return means.reshape(300, 3)


@pytest.fixture
def eyes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Eye]:
    found = {"up": Eye("up", View.TOP), "aside": Eye("aside", View.SIDE)}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(inputs, "_distance", lambda name: PolicyDistance(found[name], name))
    return found


class Patched:
    """Images with a patch of another colour, whose size is the harm."""

    name = "patched"

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        for pair_id in pair_ids:
            owner, level = map(int, pair_id.split("-"))
            rgb = CLEAN.copy()
            rgb[: 36 * level, 12 * owner : 12 * owner + 60] = 250
            yield PairImages(pair_id, rgb, CLEAN, MetricContext(View.SIDE if owner % 2 else View.TOP))

    def digest(self, pair_ids: Sequence[str]) -> str:
        return " ".join(pair_ids)


def test_cells_are_means_of_a_grid_and_channels_are_filled_up() -> None:
    rows, columns = np.divmod(np.arange(300), 20)
    found = token_cells(np.stack([rows, columns], 1).astype(np.float32)).reshape(*CELLS, CHANNELS)
    np.testing.assert_allclose(found[:, 0, 0], [1, 4, 7, 10, 13])
    np.testing.assert_allclose(found[0, :, 1], 0.5 + 2 * np.arange(10))
    assert not found[..., 2:].any()
    assert token_cells(np.ones((64, 1152), np.float32)).shape == (TOKEN_VALUES,)
    with pytest.raises(InputError, match="too few features"):
        token_cells(np.ones((49, 8), np.float32))


def test_the_subject_of_the_camera_looks_at_the_image(eyes: dict[str, Eye]) -> None:
    wanted = NetworkInput(InputKind.TOKENS, ("up", "aside"))
    assert wanted.needs is Needs.NOTHING
    for view, name in ((View.SIDE, "aside"), (View.TOP, "up"), (View.WRIST, "up"), (None, "up")):
        before = eyes[name].seen
        found = wanted.measure(CLEAN, context=MetricContext(view))
        assert eyes[name].seen == before + 1
    statistics = NetworkInput(InputKind.STATISTICS).measure(CLEAN)
    assert np.array_equal(found[:-TOKEN_VALUES], statistics)
    assert wanted.version() != NetworkInput(InputKind.TOKENS, ("up",)).version()


def test_distances_grow_with_what_the_harmless_images_do_not_have() -> None:
    torch.manual_seed(0)
    tokens = torch.randn(60, TOKEN_VALUES)
    strange = tokens[:3] * torch.tensor([[1.0], [3.0], [9.0]])
    distances = TokenDistances(1)
    distances.fit(tokens, torch.zeros(60, dtype=torch.long), torch.arange(60.0))
    for view in (0, 1):
        found = distances(strange, torch.full((3,), view))
        assert found.shape == (3, 20)
        assert (found[1:, [3, 7, 13, 17]] > found[:-1, [3, 7, 13, 17]]).all()


def test_a_metric_with_features_is_trained_exported_and_the_same_without_torch(
    eyes: dict[str, Eye], tmp_path: Path
) -> None:
    recipe = replace(recipe_by_name("embodied-nr:up+aside"), epochs=12, batch=16)
    names = [(f"{owner}-{level}", f"r{owner}", 5.0 - level) for owner in range(8) for level in range(5)]
    ids, owners, labels = zip(*names, strict=True)
    training = RecipeTraining(recipe, target="patch")
    training.train(TrainingSet(Patched(), ids, owners, np.array(labels)), tmp_path / "metric", 0)
    metric = TrainedMetric(tmp_path / "metric")
    assert metric.info.needs is Needs.NOTHING
    assert metric.card.subjects == ("up", "aside")
    pairs = list(Patched().read(["9-0", "9-2", "9-4"]))
    values = [metric.measure(pair.distorted, context=pair.context) for pair in pairs]
    assert values == sorted(values, reverse=True)
    seen = sum(eye.seen for eye in eyes.values())
    training.train(TrainingSet(Patched(), ids, owners, np.array(labels)), tmp_path / "again", 0)
    assert sum(eye.seen for eye in eyes.values()) == seen  # from the cache
    networks = [(tmp_path / name / "network.onnx").read_bytes() for name in ("metric", "again")]
    assert networks[0] == networks[1]

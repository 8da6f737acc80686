"""The trained metrics that come with this package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.api.distortions import distort
from embodied_iqa.api.interface import simulated_frame
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.fitting.fit import copy_model
from embodied_iqa.quality.gate.predictors import MetricPredictor
from embodied_iqa.quality.metrics import MetricContext, Needs
from embodied_iqa.quality.metrics.benchmark.resolving import described
from embodied_iqa.quality.metrics.catalogue import known_metrics, metric_by_name, metric_names
from embodied_iqa.quality.metrics.learned.shipped import SHIPPED
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric, make_shipped, model_folder


@pytest.mark.parametrize("name", SHIPPED)
def test_each_ranks_a_clean_image_of_the_cell_above_a_distorted_one(name: str) -> None:
    frame = simulated_frame(seed=90_001)
    metric, context = metric_by_name(name), MetricContext(View.TOP)
    values = [
        metric.measure(image, frame.rgb, context)
        for image in (frame.rgb, distort(frame.rgb, "lens-blur:3"), distort(frame.rgb, "lens-blur:5"))
    ]
    assert values[0] > values[1] > values[2]
    assert all(metric.info.lowest <= value <= metric.info.highest for value in values)


@pytest.mark.parametrize("name", SHIPPED)
def test_each_says_what_it_needs_and_what_it_reached_on_references_of_its_own(name: str) -> None:
    metric = metric_by_name(name)
    assert isinstance(metric, TrainedMetric)
    assert metric.info.name == name
    assert metric.info.needs is SHIPPED[name]
    card = metric.card
    assert (card.name, card.target, card.subjects) == (name, "decision", ())
    assert set(card.views) == {View.WRIST, View.TOP, View.SIDE}
    assert card.results["references"] > 200
    assert card.results["srcc_low"] < card.results["srcc"] < card.results["srcc_high"]
    noise = np.random.default_rng(0).integers(0, 256, (360, 480, 3), np.uint8)
    assert metric.predict(noise, noise[::-1]).outside_training is True


def test_other_spellings_and_the_other_head_are_found() -> None:
    assert metric_by_name("Embodied_NR").info.name == "embodied-nr"
    calibrated = metric_by_name("embodied-nr#calibrated")
    assert calibrated.info.name == "embodied-nr#calibrated"
    assert calibrated.info.highest > 1
    assert metric_names("trained:a,b,embodied-fr,psnr") == ("trained:a,b", "embodied-fr", "psnr")
    assert {"embodied-nr", "resnet-18"} <= set(known_metrics(Needs.NOTHING))
    with pytest.raises(UsageError, match="comes with this package; got 'vit-small'; available: embodied-nr"):
        make_shipped("vit-small")


def test_a_gate_keeps_its_own_copy_of_a_shipped_metric(tmp_path: Path) -> None:
    out = tmp_path / "gate.yaml"
    model = copy_model("embodied-nr", View.TOP, out)
    assert model is not None
    assert (tmp_path / model.folder / "network.onnx").is_file()
    frame, context = simulated_frame(seed=90_001), MetricContext(View.TOP)
    copied = MetricPredictor("embodied-nr", model, tmp_path).value(frame.rgb, context)
    assert copied == pytest.approx(-metric_by_name("embodied-nr").measure(frame.rgb, None, context), abs=1e-6)


def test_a_benchmark_knows_a_shipped_metric_by_its_weights() -> None:
    assert model_folder("psnr") is None
    digests = {described(name)[1] for name in (*SHIPPED, "embodied-nr#calibrated")}
    assert len(digests) == len(SHIPPED) + 1

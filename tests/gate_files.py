"""A fitted gate made by hand: its networks predict from the brightness of an image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from embodied_iqa.base.files import sha256_of
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.fitted import Expected, FittedGate, LossKind, NetworkFile, Networks
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.metrics.learned.card import CARD_FILE, NETWORK_FILE, MetricCard, save_metric_card
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

WIDTH_PX, HEIGHT_PX = 64, 48
SQUARE_PX = 32
THRESHOLD = 0.6
"""An image passes whose mean of red is 102 or more: the loss is 1 at black and 0 at white."""


def calibration(**bounds: Bounds) -> GateCalibration:
    """Every image of the top camera is usual, except for the given statistics."""
    anything = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
    named = {Statistic(name): value for name, value in bounds.items()}
    return GateCalibration(View.TOP, WIDTH_PX, HEIGHT_PX, anything | named, 100, "made up")


def write_gate(folder: Path, cameras: tuple[GateCalibration, ...] = (), **changes: object) -> Path:
    """Write a gate with its networks; return the file."""
    networks = Networks(
        *(write_network(folder / "gate" / name, share) for name, share in (("loss", 1.0), ("wrong", 0.5)))
    )
    fitted = FittedGate(
        judge="learned",
        view=View.TOP,
        width_px=WIDTH_PX,
        height_px=HEIGHT_PX,
        policy="a policy",
        loss=LossKind.DECISION,
        threshold=THRESHOLD,
        promise="Nothing is promised.",
        expected=Expected(0.1, 0.02, 0.1, 0.02),
        seen=dict.fromkeys(Statistic, (-1e9, 1e9)) | {Statistic.EXPOSURE: (0.05, 1.0)},
        networks=networks,
    )
    path = folder / "gate.yaml"
    usual = calibration(exposure=Bounds(0.1, 0.3, np.inf, np.inf))
    save_calibrations(cameras or (usual,), path, [replace(fitted, **changes)])
    return path


def write_metric_gate(folder: Path, kind: str = "metric:trained:M", *, nan: bool = False) -> Path:
    """Write a gate whose judge is a trained metric, with the threshold of `write_gate`; return the file."""
    model = write_network(folder / "gate" / "model", 1.0, nan=nan, square=True)
    return write_gate(folder, judge=kind, networks=None, model=model)


def write_network(
    folder: Path, share: float, *, nan: bool = False, subjects: tuple[str, ...] = (), square: bool = False
) -> NetworkFile:
    """Write a network whose label is minus a share of the darkness, or never a number.

    With subjects it takes the darkness from the last of their features; with `square` it takes the central
    square of the image, like the metrics of machine vision.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mean = [helper.make_node("Gather", ["input", "red"], ["mean"], axis=1)]
    if square:
        mean = [
            helper.make_node("Gather", ["input", "red"], ["plane"], axis=3),
            helper.make_node("Cast", ["plane"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMean", ["numbers"], ["mean"], axes=[1, 2], keepdims=0),
        ]
    nodes = [
        *mean,
        helper.make_node("Sub", ["mean", "white"], ["dark"]),
        helper.make_node("Mul", ["dark", "share"], ["label"]),
        helper.make_node("Identity", ["label"], ["rank"]),
    ]
    constants = {
        "red": np.array(-1 if subjects else 0, np.int64),
        "white": np.array(255, np.float32),
        "share": np.array(np.nan if nan else share / 255, np.float32),
    }
    size = NetworkInput(InputKind.TOKENS if subjects else InputKind.STATISTICS, subjects)
    taken = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", "d"])
    if square:
        size = NetworkInput(InputKind.SQUARE, size_px=(SQUARE_PX, SQUARE_PX))
        taken = helper.make_tensor_value_info("input", TensorProto.UINT8, ["n", SQUARE_PX, SQUARE_PX, 3])
    inputs = [
        taken,
        helper.make_tensor_value_info("view", TensorProto.INT64, ["n"]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("rank", "label")]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "dark", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / NETWORK_FILE))
    card = MetricCard(
        "embodied-nr", "Made by hand.", size.kind, size.version(), subjects, size.size_px, CELL_VIEWS, "",
        label_low=-1.0, label_high=0.0, sha256=sha256_of(folder / NETWORK_FILE),
    )  # fmt: skip
    save_metric_card(card, folder)
    return NetworkFile(folder.relative_to(folder.parents[1]).as_posix(), sha256_of(folder / CARD_FILE))

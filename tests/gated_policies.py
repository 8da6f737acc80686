"""A gate calibrated on textured images, and policies behind its proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import cv2
import numpy as np

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.serving.listener import ServingOptions
from embodied_iqa.models.subjects.wire.policy_client import WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.quality.gate.calibration import GateCalibration, calibrate
from embodied_iqa.quality.gate.image_statistics import measure
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.proxy.gated_policy import ProxyOptions, observation_rules
from embodied_iqa.quality.gate.proxy.observed_images import ProxyCamera
from embodied_iqa.quality.gate.proxy.openvla_proxy import OpenVlaPlace, OpenVlaProxy
from embodied_iqa.quality.gate.proxy.proxy_server import GateProxy, GateSetting, PolicyPlace
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from manual_clock import PATIENCE_S
from wire_servers import in_thread

KEY, WRIST = "observation/exterior_image_1_left", "observation/wrist_image_left"
SIDE_PX = 64
CAMERAS = (ProxyCamera(KEY, View.TOP), ProxyCamera(WRIST, View.WRIST))


def scene_image(seed: int, side_px: int = SIDE_PX) -> np.ndarray:
    """A textured image, like others of its kind."""
    random = np.random.default_rng(seed)
    blocks = random.integers(40, 216, (16, 16, 3), dtype=np.uint8)
    return cv2.resize(blocks, (side_px, side_px), interpolation=cv2.INTER_CUBIC)


def covered(image: np.ndarray) -> np.ndarray:
    """The image of a camera that is covered half-way."""
    changed = image.copy()
    changed[:, : image.shape[1] // 2] = 0
    return changed


@cache
def calibrations(side_px: int = SIDE_PX) -> tuple[GateCalibration, ...]:
    clean = [measure(scene_image(seed, side_px)) for seed in range(60)]
    return tuple(calibrate(view, clean, "made up") for view in (View.TOP, View.WRIST))


def rules(mode: GateMode = GateMode.ON) -> GateOptions:
    return observation_rules(mode)


def setting(mode: GateMode = GateMode.ON, **options: Any) -> GateSetting:
    return GateSetting(StatisticsJudge(calibrations()), rules(mode), ProxyOptions(CAMERAS, **options))


def observation(top: int = 100, wrist: int = 101) -> dict[str, Any]:
    """What openpi's client for DROID sends, small."""
    return {
        KEY: scene_image(top),
        WRIST: scene_image(wrist),
        "observation/joint_position": np.arange(7.0),
        "observation/gripper_position": np.array([0.5]),
        "prompt": "pick the red cube",
    }


def damaged(message: bytes, random: np.random.Generator) -> bytes:
    """Change some bytes, most of them outside of the pixels, cut, or repeat a part."""
    data = bytearray(message)
    for _ in range(random.integers(1, 4)):
        place = int(random.integers(len(data)))
        match random.integers(4):
            case 0:
                data[place] = int(random.integers(256))
            case 1:
                data[int(random.integers(min(100, len(data))))] ^= 1 << int(random.integers(8))
            case 2:
                del data[place : place + int(random.integers(1, 200))]
            case _:
                data[place:place] = data[: int(random.integers(1, 200))]
    return bytes(data)


@contextmanager
def openvla_proxying(
    made: GateSetting, policy_port: int, *, answer_s: float = PATIENCE_S, **limits: Any
) -> Iterator[int]:
    """Run a proxy for OpenVLA's protocol in a thread, in a block; gives its port."""
    wire = WireLimits(connect_s=PATIENCE_S, answer_s=answer_s)
    place = OpenVlaPlace(Address("127.0.0.1", policy_port), limits=wire)
    with in_thread(
        OpenVlaProxy(made, place, ServingOptions(port=0, most_waiting=1, **limits)).listening
    ) as port:
        yield port


@contextmanager
def proxying(
    made: GateSetting,
    policy_port: int,
    *,
    answer_s: float = PATIENCE_S,
    connect_s: float = PATIENCE_S,
    asks_once: bool = False,
    threads: int = 8,
    clock: Clock = MONOTONIC,
    **limits: Any,
) -> Iterator[int]:
    """Run a proxy in a thread, with further ones that connect to the policy, in a block; gives its port."""
    wire = WireLimits(connect_s=connect_s, answer_s=answer_s, asks_once=asks_once)
    place = PolicyPlace(Address("127.0.0.1", policy_port), wire, clock=clock)
    proxy = GateProxy(made, place, ServingOptions(port=0, most_waiting=1, **limits))
    with in_thread(proxy.listening, threads) as port:
        yield port

"""Dropped and repeated images of the simulated cameras."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, nominal_snapshot
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.faults import Fault, FaultRates
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer

PERIOD_NS = 66_000_000
RATES = FaultRates(dropped=0.2, repeated=0.3)


@pytest.fixture(scope="module")
def renderer() -> Iterator[SceneRenderer]:
    with SceneRenderer(make_scene(3), 160, 120) as renderer:
        yield renderer


def states(count: int) -> list[WorldSnapshot]:
    rest = nominal_snapshot(make_scene(3), HOME_Q_RAD)
    moved = np.linspace(0, 0.02 * count, count)
    return [
        replace(rest, time_ns=n * PERIOD_NS, qpos=rest.qpos + turn * (np.arange(len(rest.qpos)) == 0))
        for n, turn in enumerate(moved)
    ]


def test_faults_are_as_rare_as_their_rates_and_repeat_by_seed_view_and_stamp() -> None:
    def drawn(seed: int, view: View) -> list[Fault | None]:
        return [RATES.fault(seed, view, stamp * PERIOD_NS) for stamp in range(2000)]

    faults = drawn(5, View.TOP)
    count = Counter(faults)
    for fault, rate in ((Fault.DROPPED, RATES.dropped), (Fault.REPEATED, RATES.repeated)):
        assert abs(count[fault] / 2000 - rate) < 4 * math.sqrt(rate * (1 - rate) / 2000)
    assert drawn(5, View.TOP) == faults
    assert drawn(6, View.TOP) != faults != drawn(5, View.SIDE)
    assert set(Counter(FaultRates().fault(5, View.TOP, stamp) for stamp in range(100))) == {None}


@pytest.mark.parametrize("model", CameraModel)
def test_images_are_dropped_and_repeated_and_the_others_stay(
    renderer: SceneRenderer, model: CameraModel
) -> None:
    sound, faulty = (SimulatedCameras(renderer, model, (View.WRIST,), rates) for rates in (None, RATES))
    count: Counter[tuple[View, Fault]] = Counter()
    before = None
    shots = [(faulty.take(state), sound.take(state)) for state in states(24)]
    for shot, whole in shots:
        fault = RATES.fault(renderer.scene.seed, View.WRIST, shot.snapshot.time_ns)
        expected = sound.frame(View.WRIST, whole)
        if fault is Fault.REPEATED and before is not None:
            expected = before
        assert (View.WRIST in shot.dropped) == (fault is Fault.DROPPED)
        if fault is not None and (fault is Fault.DROPPED or before is not None):
            count[View.WRIST, fault] += 1
        if fault is Fault.DROPPED:
            continue
        frame = faulty.frame(View.WRIST, shot)
        assert frame.stamp_ns == shot.snapshot.time_ns
        assert np.array_equal(frame.rgb, expected.rgb)
        before = frame
    assert faulty.faults == count
    assert len(count) == 2
    assert not sound.faults

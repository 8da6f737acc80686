"""The speed slider at the robot slows the arm along its path, down to standstill, within every limit."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import Bench, straight

from embodied_iqa.arm.robot.messages import ArmMode, GoalOutcome

RAISED = straight(dz=0.15, count=5)


def _moved(fraction: float) -> Bench:
    bench = Bench(faults={"speed_fraction": fraction}).armed()
    bench.send(RAISED)
    bench.run(8000, until=ArmMode.IDLE)
    assert bench.outputs[-1].reports[0].outcome is GoalOutcome.COMPLETED
    return bench


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
def test_the_arm_moves_along_the_same_path_at_the_fraction_of_its_speed(fraction: float) -> None:
    full, slow = _moved(1.0), _moved(fraction)
    fastest = max(output.status.tool_speed_mps for output in full.outputs)
    assert max(output.status.tool_speed_mps for output in slow.outputs) == pytest.approx(
        fraction * fastest, rel=0.01
    )
    np.testing.assert_allclose(slow.q, full.q, atol=1e-9)
    assert slow.outputs[-20].status.reason == f"the speed slider is at {fraction:.0%}"
    assert {output.status.reason for output in full.outputs[1:]} == {""}


def test_at_zero_it_stands_until_the_slider_is_raised() -> None:
    bench = Bench().armed()
    bench.send(RAISED)
    bench.run(40)
    bench.faults = {"speed_fraction": 0.0}
    bench.run(60)
    stands = bench.q.copy()
    bench.run(500)
    status = bench.outputs[-1].status
    assert (status.mode, status.reason) == (ArmMode.EXECUTING, "the speed slider is at 0%")
    np.testing.assert_array_equal(bench.q, stands)
    bench.faults = {}
    bench.run(2000, until=ArmMode.IDLE)
    np.testing.assert_allclose(bench.q, _moved(1.0).q, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_a_slider_that_is_pushed_to_and_fro_breaks_no_limit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bench = Bench().armed()
    increments = np.zeros((6, 7))
    increments[:, :3], increments[:, 3:6] = rng.normal(0, 0.01, (6, 3)), rng.normal(0, 0.05, (6, 3))
    bench.send(increments)
    bench.run(20, until=ArmMode.EXECUTING)
    passed: list[tuple[int, float]] = []
    while bench.state.run is not None and len(passed) < 20_000:
        bench.faults = {"speed_fraction": float(rng.choice([0.0, 0.01, 0.1, 0.3, 1.0]))}
        for _ in range(int(rng.integers(1, 60))):
            bench.tick()
            if (run := bench.state.run) is not None:
                passed.append((run.index, run.progress.u_s))
    assert bench.outputs[-1].status.mode is ArmMode.IDLE, bench.outputs[-1].status.reason
    assert passed == sorted(passed), "it never goes back along its path"
    limits = bench.controller.planner.limits
    qd = bench.speeds()
    assert np.abs(qd).max() <= limits.joint_speed_radps
    assert (
        np.abs(np.diff(qd, axis=0)).max() / bench.controller.options.dt_s <= limits.joint_acceleration_radps2
    )

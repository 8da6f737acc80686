"""Renderers are closed by their owner in the thread that made them; what is left open is counted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InternalError, MissingDependencyError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.kept import keep_open, keep_open_in_worker
from embodied_iqa.base.workers import Workers
from embodied_iqa.data.database.building.build_options import BLOCK, BuildOptions, BuildPlan, Step
from embodied_iqa.data.database.building.builder import build
from embodied_iqa.data.database.sources.simulated import SimulationSource
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.experiment.experiment_plan import ExperimentTask, RunKey
from embodied_iqa.runs.experiment.headless_runs import run_all
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.world.scenes.scene import Scene, make_scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation import engine, scene_batches
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.graphics_contexts import open_contexts
from embodied_iqa.world.simulation.kept_renderers import batch_renderer
from embodied_iqa.world.simulation.renderer import SceneRenderer
from live_process import COMPLETION_S
from suite_forkserver import own_server

SCENE = make_scene(7)
DROPPED = """
import gc, threading
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.graphics_contexts import open_contexts
from embodied_iqa.world.simulation.renderer import SceneRenderer

def drop() -> None:
    cycle = [SceneRenderer(make_scene(7), 32, 32)]
    cycle.append(cycle)

gc.disable()
for _ in range(2):
    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
gc.enable()
gc.collect()
with SceneRenderer(make_scene(7), 32, 32):
    print(len(open_contexts()))
print(len(open_contexts()))
"""
SUITE = """
import pytest
from embodied_iqa.world.simulation.graphics_contexts import GraphicsContext

class Engine:
    def close(self): ...

def opened():
    context = GraphicsContext()
    context.open(Engine)
    return context

@pytest.fixture(scope="module")
def shared():
    context = opened()
    yield context
    context.close()

@pytest.fixture(scope="module")
def forgotten():
    return opened()

def test_closes(shared):
    opened().close()

def test_forgets():
    opened()

def test_is_innocent(shared, forgotten):
    shared.close()
    shared.open(Engine)
"""


def in_thread(work: Callable[[], object]) -> None:
    """Call a function in a thread that owns nothing; raise what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the test
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(COMPLETION_S)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def open_here() -> int:
    """Return how many contexts of this thread are open."""
    return sum(context.thread is threading.current_thread() for context in open_contexts())


def test_what_a_thread_drops_is_counted_and_named_and_never_touched() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", DROPPED],
        capture_output=True,
        text=True,
        check=True,
        timeout=COMPLETION_S,
    )
    assert done.stdout.split() == ["3", "2"]
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert all("left open; made at <string>:8 < " in line for line in lines)


def test_a_context_belongs_to_the_thread_that_made_it() -> None:
    renderer = SceneRenderer(SCENE, 32, 32)
    for use in (renderer.close, lambda: renderer.frame(View.TOP, nominal_snapshot(SCENE))):
        with pytest.raises(InternalError, match=r"MainThread, got .*test_graphics_contexts.py:\d+"):
            in_thread(use)
    with pytest.raises(InternalError, match="MainThread"):
        in_thread(lambda: renderer.load(SCENE))
    assert renderer.context in open_contexts()
    assert renderer.frame(View.TOP, nominal_snapshot(SCENE)).rgb.any()
    renderer.close()
    assert renderer.context not in open_contexts()
    in_thread(renderer.close)


def test_a_renderer_that_fails_half_way_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no memory for textures")

    before = open_contexts()
    with SceneRenderer(SCENE, 32, 32) as renderer:
        monkeypatch.setattr(mujoco, "MjrContext", fail)
        with pytest.raises(MissingDependencyError, match="no memory"):
            SceneRenderer(SCENE, 32, 32)
        with pytest.raises(MissingDependencyError, match="no memory"):
            renderer.load(SCENE)
        assert open_contexts() == before


def test_the_outermost_owner_closes_what_is_lent() -> None:
    def work() -> None:
        with batch_renderer(32, 32) as alone:
            assert open_here() == 1
        assert open_here() == 0
        with keep_open():
            with batch_renderer(32, 32) as first, keep_open(), batch_renderer(32, 32) as second:
                assert first is second
                assert first is not alone
            with suppress(KeyboardInterrupt), batch_renderer(32, 32) as third:
                assert third is first
                raise KeyboardInterrupt
            assert open_here() == 1
        assert open_here() == 0

    in_thread(work)


def drawn(scene: Scene) -> bytes:
    """Image and segmentation of a scene, drawn by a renderer of their own."""
    with SceneRenderer(scene, 64, 48) as renderer:
        snapshot = nominal_snapshot(scene)
        image, parts = renderer.frame(View.TOP, snapshot).rgb, renderer.segmentation(View.SIDE, snapshot)
    return image.tobytes() + parts.tobytes()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Thread]]:
    """The thread of each EGL context that is made; none is kept from before."""
    threads: list[threading.Thread] = []

    class Counted(engine._EglContext):
        def __init__(self, *size: int) -> None:
            super().__init__(*size)
            threads.append(threading.current_thread())

    monkeypatch.setattr(engine, "_EglContext", Counted)
    engine._release_kept()
    yield threads
    engine._release_kept()


def test_renderers_after_each_other_are_lent_one_context_and_draw_as_in_one_of_their_own(
    made: list[threading.Thread],
) -> None:
    scenes = [make_scene(seed) for seed in (7, 8)]
    lent = [drawn(scene) for scene in (*scenes, *scenes)]
    assert made == [threading.main_thread()]
    own: list[bytes] = []
    for scene in scenes:
        in_thread(lambda scene=scene: own.append(drawn(scene)))
    assert len(made) == 3, "nothing is kept of a thread that ends"
    assert lent == own * 2
    assert lent[0] != lent[1]


def test_renderers_beside_each_other_have_a_context_each_and_one_is_kept(
    made: list[threading.Thread],
) -> None:
    alone = drawn(SCENE)
    with SceneRenderer(make_scene(8), 64, 48) as other:
        assert drawn(SCENE) == alone
        before = other.frame(View.TOP, nominal_snapshot(other.scene)).rgb
        assert drawn(SCENE) == alone
        assert np.array_equal(other.frame(View.TOP, nominal_snapshot(other.scene)).rgb, before)
    assert len(made) == 2
    assert len(engine._kept) == 1
    assert drawn(SCENE) == alone
    assert len(made) == 2


def test_a_build_compiles_one_renderer_and_closes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(scene_batches.SceneBatchRenderer):
        def __init__(self, width_px: int, height_px: int) -> None:
            super().__init__(width_px, height_px)
            made.append(threading.current_thread())

    monkeypatch.setattr(scene_batches, "SceneBatchRenderer", Counted)

    def work() -> None:
        plan = BuildPlan(BLOCK + 1, SimulationSource(4, 160, 120))  # several jobs
        build(tmp_path / "db", plan, BuildOptions(steps=(Step.REFERENCES,)))
        assert made == [threading.current_thread()]
        assert open_here() == 0

    in_thread(work)


def keys() -> list[RunKey]:
    task, vla = ExperimentTask("pick the red cube", 7), parse_vla("classical-vla")
    return [RunKey(vla, task, spec) for spec in (None, DistortionSpec("04", 5))]


def options() -> HeadlessOptions:
    short = {
        "gate_node.judge.mode": "off",
        "trial_node.run_limit_s": 1.0,
        "camera_node.width_px": 160,
        "camera_node.height_px": 120,
    }
    return HeadlessOptions(resolve((), short))


def test_runs_that_are_abandoned_half_way_close_their_renderer() -> None:
    def work() -> None:
        with suppress(KeyboardInterrupt), closing(run_all(keys(), options())) as runs:
            next(runs)
            assert open_here() == 1
            raise KeyboardInterrupt
        assert open_here() == 0

    in_thread(work)


def test_workers_close_their_renderers_before_they_end(capfd: pytest.CaptureFixture[str]) -> None:
    with own_server():
        assert len(list(run_all(keys(), options(), engine=EngineOptions(workers=2)))) == 2
        with Workers(1) as pool:
            assert [pool.submit(lend_twice).result() for _ in range(2)] == [1, 1]
            pool.submit(forget).result()  # shows that a worker reports what it leaves open
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert "left open" in line
    assert f"{Path(__file__).name}:" in line


def lend_twice() -> int:
    keep_open_in_worker()  # as the engine does before each job
    for _ in range(2):
        with batch_renderer(32, 32):
            pass
    return len(open_contexts())


def forget() -> None:
    SceneRenderer(SCENE, 32, 32)


def test_a_test_that_leaves_one_open_fails_and_no_other_one(tmp_path: Path) -> None:
    file = tmp_path / "test_suite.py"
    file.write_text(SUITE)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "open_graphics", str(file)]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}  # says all twice
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(Path("tests").resolve())},
        capture_output=True,
        text=True,
        check=False,
        timeout=COMPLETION_S,
    )
    assert "3 passed, 2 errors" in done.stdout
    assert "ERROR test_suite.py::test_forgets - " in done.stdout
    assert "ERROR test_suite.py::test_is_innocent - " in done.stdout
    assert done.stdout.count("made at") == 2
    assert f"made at {file}:9" in done.stdout

"""Expert trajectories: their files, hostile ones, and how they are made."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.experiment import running
from embodied_iqa.cli.main import main
from embodied_iqa.runs.experiment.experiment_plan import ExperimentTask
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.suites.static_benchmark.vla import making
from embodied_iqa.suites.static_benchmark.vla.making import (
    VERBS,
    ImageOptions,
    draw_task,
    make_trajectories,
)
from embodied_iqa.suites.static_benchmark.vla.trajectories import TrajectoryFolder
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.tasks.instruction import parse_instruction
from static_trajectories import made_trajectory, write_trajectories


def _change(folder: TrajectoryFolder, **values: Any) -> None:
    file = folder.file("001")
    file.write_text(json.dumps(unstructure(made_trajectory(1)) | values))


def test_a_benchmark_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = write_trajectories(tmp_path, 3)
    found = folder.read()
    assert [task.task for task in found] == ["000", "001", "002"]
    assert found[1].steps == made_trajectory(1).steps
    frames = folder.frames(found[1])
    assert {frame.rgb.shape for frame in frames.values()} == {(60, 80, 3)}
    assert folder.digest() == TrajectoryFolder(tmp_path).digest()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"task": "../../000"}, "its task is called"),
        ({"steps": []}, "steps of 7 numbers"),
        ({"steps": [[0.0] * 6]}, "steps of 7 numbers"),
        ({"steps": [[0.0] * 6 + [1.5]]}, "from 0 to 1"),
        ({"steps": [[0.0] * 6 + ["nan"]]}, "a finite number"),
        ({"T_base_tool": [1.0]}, "16 numbers"),
        ({"duration_s": 0.0}, "above 0 s"),
        ({"measured_gripper": [0.5]}, "measured gripper"),
        ({"more": 1}, "unknown keys more"),
    ],
)
def test_a_damaged_trajectory_is_one_line(tmp_path: Path, values: dict[str, Any], words: str) -> None:
    folder = write_trajectories(tmp_path, 2)
    _change(folder, **values)
    with pytest.raises(InputError, match=words) as caught:
        folder.read()
    assert "\n" not in str(caught.value)


def test_an_image_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write_trajectories(tmp_path, 2)
    image = unstructure(folder.read()[1].images[0]) | {"file": "../../../etc/passwd"}
    _change(folder, images=[image])
    with pytest.raises(InputError, match="not a file name"):
        folder.read()


def test_a_changed_image_is_refused_and_an_unfinished_benchmark_too(tmp_path: Path) -> None:
    folder = write_trajectories(tmp_path, 2)
    task = folder.read()[0]
    (folder.images / task.images[0].file).write_bytes(b"other")
    with pytest.raises(InputError, match="not the image that was written"):
        folder.frames(task)
    folder.file("001").unlink()
    with pytest.raises(InputError, match="not complete; expected 2 trajectories"):
        folder.read()
    with pytest.raises(InputError, match="has no expert trajectories"):
        TrajectoryFolder(tmp_path / "other").read()


def test_verbs_alternate_and_a_task_is_that_of_its_scene_seed() -> None:
    drawn = [draw_task(1, index, 0) for index in range(10)]
    assert [instruction.verb for _, instruction in drawn] == [*VERBS, *VERBS]
    for scene, instruction in drawn:
        assert make_scene(scene.seed, instruction) == scene
        assert parse_instruction(str(instruction)) == instruction
    assert len({(str(task.verb), str(task.kind), str(scene.background)) for scene, task in drawn}) == 10
    assert drawn[3] == draw_task(1, 3, 0) != draw_task(1, 3, 1)
    assert drawn[3] != draw_task(2, 3, 0)


def test_made_trajectories_are_seeded_and_a_killed_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--trajectories",
        "--items",
        "2",
        "--seed",
        "4",
        "--size",
        "160x120",
        "--out",
        str(tmp_path / "whole"),
    ]
    assert main(["static", "make", *words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["trajectories"], printed["verbs"]) == (2, {"pull": 1, "push": 1})
    whole = TrajectoryFolder(tmp_path / "whole")
    assert [task.verb for task in whole.read()] == ["push", "pull"]
    assert all(len(task.steps) == 50 and len(task.images) == 3 for task in whole.read())
    drawn_expert = making._drawn_expert
    small = ImageOptions(160, 120)

    def interrupted(seed: int, index: int) -> object:
        if index == 1:
            raise KeyboardInterrupt
        return drawn_expert(seed, index)

    with monkeypatch.context() as patch:
        patch.setattr(making, "_drawn_expert", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make_trajectories(tmp_path / "cut", tasks=2, seed=4, images=small)
        patch.setattr(making, "_drawn_expert", lambda *_: 1 / 0)
        for seed in (6, 7):  # without a trajectory, the plan of the first start binds nobody
            with pytest.raises(ZeroDivisionError):
                make_trajectories(tmp_path / "none", tasks=2, seed=seed, images=small)
    cut = TrajectoryFolder(tmp_path / "cut")
    assert cut.file("000").is_file()
    assert not cut.file("001").is_file()
    first = cut.file("000").stat().st_mtime_ns
    make_trajectories(tmp_path / "cut", tasks=2, seed=4, images=small)
    assert cut.file("000").stat().st_mtime_ns == first
    assert cut.digest() == whole.digest()
    with pytest.raises(UsageError, match=r"another plan: seed is 4 there, 5 asked;"):
        make_trajectories(tmp_path / "cut", tasks=2, seed=5, images=small)
    with (
        JobFolder(tmp_path / "cut", "making of questions").locked(),
        pytest.raises(InputError, match="another making of questions works"),
    ):
        make_trajectories(tmp_path / "cut", tasks=2, seed=4, images=small)


def test_an_experiment_takes_the_tasks_of_a_benchmark(tmp_path: Path) -> None:
    write_trajectories(tmp_path, 3)
    given, graph = Namespace(bench=tmp_path, first_tasks=None, task=[], ros=False), resolve((), {})
    assert running._tasks(given, (), graph) == tuple(
        ExperimentTask("pick the red cube", 7 + index) for index in range(3)
    )
    with pytest.raises(UsageError, match="both a benchmark and tasks"):
        running._tasks(Namespace(bench=tmp_path, first_tasks=3, task=[], ros=False), (), graph)

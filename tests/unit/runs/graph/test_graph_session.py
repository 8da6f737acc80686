"""What a session is asked to do is checked before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli import trial
from embodied_iqa.cli.main import parse
from embodied_iqa.cli.trial import check
from embodied_iqa.imaging.distortions import DistortionSpec, parse_distortion
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.graph.graph_nodes import Purpose
from embodied_iqa.runs.graph.node_table import nodes_of, resolve
from embodied_iqa.runs.graph.session_plan import (
    DEFAULT_BURST,
    DEFAULT_DISTORTIONS,
    DEFAULT_TASK,
    TOUR_TASKS,
    SessionPlan,
    check_subjects,
    check_task,
    check_tasks,
)
from embodied_iqa.runs.graph.session_results import ScoredSubjects, in_force
from embodied_iqa.runs.trial.start_patience import StartPatience
from real_arm import REAL_ARM


def test_tasks_get_their_plain_form() -> None:
    assert check_tasks((" pick RED  cube ",), resolve()) == ("pick the red cube",)


def test_two_words_for_one_task_are_one_task() -> None:
    with pytest.raises(UsageError, match=r"duplicate.*pick the red cube"):
        check_tasks(("pick the red cube", "pick red cube"), resolve())


@pytest.mark.parametrize("word", ["fling the red cube", "pick the mauve cube", "pick the red teapot", ""])
def test_an_unknown_word_is_reported_with_the_known_ones(word: str) -> None:
    with pytest.raises(UsageError, match=r"available|expected"):
        check_tasks((word,), resolve())


ANY_WORDS = {
    "arm_node.robot": "none",
    "camera_node.source": "files",
    "vlm_node.subject": "openai:http://127.0.0.1:9/v1#any",
    "vla_node.subject": "openpi://127.0.0.1:9",
}
FREE = (" Open the microwave, please! ", "把杯子放进微波炉", "=1+1 <b>[red]</b>")


def test_anybodys_words_stay_as_they_were_typed() -> None:
    assert check_tasks(FREE, resolve(overrides=ANY_WORDS)) == FREE


@pytest.mark.parametrize("subject", ["vlm_node.subject", "vla_node.subject"])
def test_an_embedded_subject_that_cannot_parse_a_task_is_named_before_anything_starts(subject: str) -> None:
    name = "panel-vlm-fine" if "vlm" in subject else "classical-vla"
    graph = resolve(overrides=ANY_WORDS | {subject: name})
    assert check_tasks(("pick the red cube",), graph) == ("pick the red cube",)
    with pytest.raises(UsageError, match=f"{name} cannot parse 'open the microwave'"):
        check_tasks(("open the microwave",), graph)


@pytest.mark.parametrize("words", ["", "  ", "open\nit", "x" * 501])
def test_what_is_no_sentence_is_refused_with_every_robot(words: str) -> None:
    for graph in (resolve(), resolve(overrides=ANY_WORDS)):
        with pytest.raises(UsageError):
            check_tasks((words,), graph)


def test_tasks_that_differ_in_a_sign_have_folders_of_their_own() -> None:
    tasks = ("开门", "关门", "Open it", "open it", "open it!", "x" * 499 + "a", "x" * 499 + "b")
    folders = SessionPlan(tasks, 1, (), resolve()).folders(Path("runs/x"))
    names = [folder.folder.name for folder in folders]
    assert len(set(names)) == len(tasks)
    assert names[3] == "open-it"
    assert max(map(len, names)) < 120


def test_outside_the_cell_a_run_ends_with_the_policy_a_person_or_the_time() -> None:
    cell, own = resolve(), resolve(overrides=ANY_WORDS)
    assert (cell.trial_node.run_limit_s, cell.vla_node.max_chunks) == (30.0, 12)
    assert (own.trial_node.run_limit_s, own.vla_node.max_chunks) == (120.0, 0)
    tolerances_s = [graph.vla_node.policy.pairing_tolerance_s for graph in (cell, own)]
    assert tolerances_s == [0.0, 0.05], "cameras of the cell have equal stamps, others run freely"
    chosen = resolve(overrides=ANY_WORDS | {"trial_node.run_limit_s": 7.0, "vla_node.max_chunks": 3})
    assert (chosen.trial_node.run_limit_s, chosen.vla_node.max_chunks) == (7.0, 3)


def test_with_a_receding_horizon_the_arm_has_that_of_the_policy_and_nothing_counts_decisions() -> None:
    receding = {"vla_node.horizon.mode": "receding", "vla_node.horizon.step_rate_hz": 15.0}
    graph = resolve(overrides=receding | {"vla_node.horizon.execute_steps": 7})
    assert (
        graph.arm_node.controller.horizon
        == graph.vla_node.horizon
        == HorizonOptions(Horizon.RECEDING, 7, 15.0)
    )
    assert graph.vla_node.max_chunks == 0
    assert not resolve().arm_node.controller.horizon.is_receding
    with pytest.raises(UsageError, match="control rate of the policy"):
        resolve(overrides={"vla_node.horizon.mode": "receding"})


def test_a_horizon_that_the_arm_is_given_holds_for_the_policy_too() -> None:
    horizon = {"mode": "receding", "step_rate_hz": 15.0}
    arm = {f"arm_node.controller.horizon.{name}": value for name, value in horizon.items()}
    assert resolve(overrides=arm).vla_node.horizon == HorizonOptions(Horizon.RECEDING, step_rate_hz=15.0)
    words = "arm_node.controller.horizon.step_rate_hz is not vla_node.horizon.step_rate_hz"
    with pytest.raises(UsageError, match=words):
        resolve(overrides=arm | {"vla_node.horizon.step_rate_hz": 5.0})


def test_the_session_waits_longer_than_its_longest_run() -> None:
    for limit_s in (1.0, 30.0, 120.0, 3600.0):
        graph = resolve(overrides={"trial_node.run_limit_s": limit_s})
        plan = SessionPlan(("pick the red cube",), 1, (), graph)
        (folder,) = plan.folders(Path("runs/x"))
        assert plan.deadline_s(folder) >= limit_s + 150.0


def test_the_session_waits_longer_than_the_longest_start_and_a_run() -> None:
    graph = resolve(overrides={"trial_node.start_deadline_s": 400.0})
    plan = SessionPlan(("pick the red cube",), 1, (), graph)
    (folder,) = plan.folders(Path("runs/x"))
    longest_start_s = StartPatience((), graph.trial_node.start_deadline_s).limit_s
    assert plan.deadline_s(folder) == longest_start_s + plan.longest_run_s


def test_distortions_carry_the_seed() -> None:
    assert parse_distortion("2:1", seed=4) == DistortionSpec("02", 1, seed=4)


@pytest.mark.parametrize("word", ["99:1", "19", "19:0", "19:6", "19:x", ":", ""])
def test_a_wrong_distortion_is_refused(word: str) -> None:
    with pytest.raises(UsageError):
        parse_distortion(word, seed=0)


def test_the_defaults_are_right_and_the_tour_uses_three_verbs() -> None:
    assert {task.split()[0] for task in check_tasks(TOUR_TASKS, resolve())} == {"pick", "push", "press"}
    assert TOUR_TASKS[-1] == DEFAULT_TASK, "the burst is chosen for this task"
    assert len({parse_distortion(word, seed=0) for word in DEFAULT_DISTORTIONS}) == 3


def test_one_task_lies_in_the_runs_folder_several_in_one_each() -> None:
    graph, root = resolve(), Path("runs/x")
    one = SessionPlan(("pick the red cube",), 1, (), graph).folders(root)
    assert [folder.folder for folder in one] == [root]
    several = SessionPlan(TOUR_TASKS, 1, (), graph).folders(root)
    assert len({folder.recording for folder in several}) == 3
    assert all(folder.folder.parent == root for folder in several)


def test_the_last_task_has_a_burst_and_is_repeated_with_a_gate_that_the_arm_obeys() -> None:
    graph, root = resolve(), Path("runs/x")
    lens = parse_distortion("02:2")
    plan = SessionPlan(TOUR_TASKS, 1, (lens,), graph, burst=DEFAULT_BURST)
    folders = plan.folders(root)
    assert [folder.distortions for folder in folders] == [(lens,), (lens,), (lens, DEFAULT_BURST)]
    assert [folder.runs for folder in folders] == [2, 2, 3]
    assert plan.deadline_s(folders[2]) - plan.deadline_s(folders[1]) == plan.run_deadline_s

    guarded = plan.guarded
    assert guarded is not None
    assert guarded.guarded is None
    assert plan.parts == (plan, guarded)
    (folder,) = guarded.folders(root)
    assert (folder.task, folder.distortions) == (TOUR_TASKS[2], (DEFAULT_BURST,))
    assert folder.folder.name == f"{folders[2].folder.name}-gate-on"
    modes = [one.graph.gate_node.judge.mode for one in (plan, guarded)]
    assert modes == [GateMode.SHADOW, GateMode.ON]
    assert guarded.graph.gate_node.judge.kind == plan.graph.gate_node.judge.kind
    repairing = replace(plan, graph=resolve((), {"gate_node.judge.repair.enabled": True})).guarded
    assert repairing is not None
    assert repairing.graph.vla_node.repaired, "the policy sees what the gate passes on"
    assert SessionPlan(TOUR_TASKS, 1, (lens,), graph).guarded is None


def test_a_simulated_world_starts_with_the_first_scene() -> None:
    plan = SessionPlan(TOUR_TASKS, 5, (), resolve())
    world = plan.started_graph.sim_node
    assert (world.scene_seed, world.instruction) == (5, TOUR_TASKS[0])
    assert replace(plan.started_graph, sim_node=plan.graph.sim_node) == plan.graph
    real = replace(plan, graph=resolve((), {"arm_node.robot": "none", "camera_node.source": "realsense"}))
    assert real.started_graph is real.graph


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], True),
        (["--scene-seed", "3"], True),
        (["--tour"], True),
        (["--gate", "on"], False),
        (["--task", "pick the red cube"], False),
        (["--distortion", "19:5"], False),
        (["--schedule", "burst"], False),
        (["--attach"], False),
    ],
)
def test_the_gate_is_shown_where_the_user_chooses_nothing(words: list[str], shown: bool) -> None:
    plan = _plan(*words)
    assert (plan.burst is not None) is shown


@pytest.mark.parametrize(
    ("words", "tasks", "distortions"),
    [
        ([], (DEFAULT_TASK,), DEFAULT_DISTORTIONS),
        (["--tour"], TOUR_TASKS, DEFAULT_DISTORTIONS),
        (["--tour", "--distortion", "19:5"], TOUR_TASKS, ("19:5",)),
        (["--tour", "--no-distortion"], TOUR_TASKS, ()),
        (["--task", "pick the red cube"], ("pick the red cube",), DEFAULT_DISTORTIONS),
        (["--distortion", "19:5"], (DEFAULT_TASK,), ("19:5",)),
        (["--no-distortion"], (DEFAULT_TASK,), ()),
    ],
)
def test_what_is_not_chosen_is_one_task_under_three_distortions(
    words: list[str], tasks: tuple[str, ...], distortions: tuple[str, ...]
) -> None:
    plan = _plan(*words)
    assert plan.tasks == tasks
    assert plan.distortions == tuple(parse_distortion(word) for word in distortions)


@pytest.mark.parametrize("robot", ["none", "ur5"])
@pytest.mark.parametrize(
    ("more", "message"), [([], r"no task for robot {}; expected --task TEXT"), (["--tour"], "--tour.*{}")]
)
def test_no_task_is_made_up_outside_the_simulated_cell(
    robot: str, more: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "check_graph", lambda graph: graph)
    words = ["--robot", robot, "--camera", "realsense", "--set", "arm_node.model=ur5e"]
    words += ["--set", "arm_node.limits.workspace_min_m=[-0.8, -0.45, -0.01]"]
    words += ["--set", "arm_node.limits.workspace_max_m=[-0.2, 0.45, 0.71]"]
    words += [
        "--robot-ip",
        "192.168.1.10",
        "--vla",
        "openpi://127.0.0.1:8000",
        "--vlm",
        "openai:http://a/v1#m",
    ]
    with pytest.raises(UsageError, match=message.format(robot)):
        _plan(*words, *more)
    assert _plan(*words, "--task", "open the microwave").tasks == ("open the microwave",)


def test_the_tour_has_its_tasks() -> None:
    with pytest.raises(UsageError, match="--tour excludes --task"):
        _plan("--tour", "--task", "pick the red cube")


def _plan(*words: str) -> SessionPlan:
    return check(parse(["trial", *words])[1])


@pytest.mark.parametrize(("name", "what"), [("vlm_node", "VLM"), ("vla_node", "VLA")])
def test_a_subject_that_does_not_exist_is_refused(name: str, what: str) -> None:
    assert check_subjects(resolve()).vla_node == resolve().vla_node
    with pytest.raises(UsageError, match=rf"unknown {what}.*'gpt'.*available: classical"):
        check_subjects(resolve((), {f"{name}.subject": "gpt"}))


def test_a_vlm_needs_its_camera_before_anything_starts() -> None:
    cameras = {"camera_node.views": ["side", "wrist"], "vla_node.subject": "panel-vla-side"}
    with pytest.raises(UsageError, match=r"panel-vlm-fine sees the top view.*expected --vlm none"):
        check_subjects(resolve((), cameras))
    check_subjects(resolve((), cameras | {"vlm_node.subject": "none"}))


def test_a_graph_without_a_vlm_has_no_node_for_it_and_takes_any_sentence() -> None:
    real = REAL_ARM | {"vla_node.subject": "openpi://127.0.0.1:8000", "vlm_node.subject": "none"}
    for overrides in ({"vlm_node.subject": "none"}, real):
        graph = resolve((), overrides)
        assert not graph.trial_node.has_vlm
        for purpose, node in ((Purpose.TRIAL, graph.trial_node), (Purpose.RESCORE, graph.playback_node)):
            assert "vlm_node" not in {entry.name for entry in nodes_of(graph, purpose)}
            assert "vlm_node" not in node.managed_nodes
    assert check_task("put the cup on the shelf", resolve((), real)) == "put the cup on the shelf"


def test_a_policy_needs_its_cameras() -> None:
    policy = {"vla_node.subject": "panel-vla-side"}
    assert resolve((), policy).gate_node.views == (View.TOP, View.WRIST, View.SIDE)
    assert resolve((), {}, policies=[parse_vla("panel-vla-side")]).sim_node.views[-1] == View.SIDE
    with pytest.raises(UsageError, match=r"the side view.*camera_node\.views=\[top,side\].*got .top'"):
        check_subjects(resolve((), policy | {"camera_node.views": ["top"]}))


def test_another_policy_than_that_of_the_trial_is_named() -> None:
    before = ScoredSubjects({"fine": "1"}, {"mine": "1"})
    assert before.instead_of(before) == ()
    assert ScoredSubjects({}, {"mine": "1"}).instead_of(before) == (), "no VLM is rescored"
    now = ScoredSubjects({"fine": "2"}, {"theirs": "7"})
    assert now.instead_of(before) == (
        "the answers are of fine 2, those of the trial were of fine 1",
        "the decisions are of theirs 7, those of the trial were of mine 1",
    )


@pytest.mark.parametrize(("overrides", "period_s"), [({}, 0.008), (REAL_ARM, None)])
def test_the_period_of_a_real_arm_is_its_models_and_in_no_file(
    overrides: dict[str, Scalar], period_s: float | None
) -> None:
    values = in_force(resolve((), overrides))
    assert values["arm_node"].get("controller.dt_s") == period_s


def test_the_name_of_a_file_is_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_tasks(("tasks.yaml",), resolve(overrides=ANY_WORDS)) == ("tasks.yaml",)
    (tmp_path / "tasks.yaml").touch()
    for graph in (resolve(), resolve(overrides=ANY_WORDS)):
        with pytest.raises(
            UsageError, match=r"not a file; expected --task TEXT for each task; got 'tasks.yaml'"
        ):
            check_tasks(("tasks.yaml",), graph)
    assert len(check_tasks(("open it. " * 40,), resolve(overrides=ANY_WORDS))) == 1

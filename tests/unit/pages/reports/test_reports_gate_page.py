"""The results page of the gate: goals, misses and commands from stored runs."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from test_reports_experiment import gate_runs, stored_gates

from embodied_iqa.cli.distortion_options import schedules_of
from embodied_iqa.cli.experiment.table import as_tree, print_detectors
from embodied_iqa.cli.main import main, parse
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.pages.reports.experiment.experiment_report import build_page, write_experiment_report
from embodied_iqa.pages.reports.experiment.gate_arms import TITLES
from embodied_iqa.pages.reports.experiment.goals import goals_of, missed
from embodied_iqa.pages.reports.kit.markdown import write_section
from embodied_iqa.runs.experiment.arms import parse_arms
from embodied_iqa.runs.experiment.command import command_of
from embodied_iqa.runs.experiment.experiment_plan import parse_distortions
from embodied_iqa.runs.experiment.folder import ExperimentFolder, StoredExperiment, read_experiment
from embodied_iqa.runs.experiment.gate_arms import Measure, compare_arms
from embodied_iqa.runs.experiment.scores import mean_rows, score_rows
from embodied_iqa.runs.peers.comparison import DetectorResult
from embodied_iqa.runs.peers.stored import ComparedDetectors

GATES = "off,learned,oracle"
PLAN = stored_gates().plan


def markdown(stored: StoredExperiment, folder: Path, peers: ComparedDetectors | None = None) -> str:
    """Return the section of a page, from a stored experiment."""
    (folder / "experiment.json").write_text("{}")
    comparison = compare_arms(stored.rows, GATES.split(","), draws=20)
    file = folder / "page.md"
    write_section(file, "gates", build_page(stored, comparison, folder, file, peers))
    return file.read_text(encoding="utf-8")


def test_goals_state_what_is_reached_and_what_cannot_be_measured() -> None:
    goals = goals_of(compare_arms(gate_runs(), GATES.split(","), draws=20))
    cut = next(goal for goal in goals if goal.gate == "learned" and goal.what == "wrong motions cut")
    assert cut.percent.value == pytest.approx(75.0)
    assert cut.reached == "no"
    words = list(missed(goals))
    assert "Missed by `learned`: wrong motions cut 75.0 %, goal at least 80 %." in words
    assert words[-1] == "Not measured, as none happened without a gate or nothing tells: emergency stops cut."
    assert goals_of(compare_arms(gate_runs(), ["learned", "oracle"], draws=20)) == []


@pytest.mark.parametrize(
    ("scenes", "stops", "cut", "lost"),
    [(30, 30, "yes", "not shown"), (10, 1, "not shown", "not shown"), (400, 2, "not shown", "yes")],
)
def test_a_goal_is_reached_by_its_whole_interval_and_not_by_a_few_events(
    scenes: int, stops: int, cut: str, lost: str
) -> None:
    """Whatever happens with the gate: nothing does. Ten scenes do not show that one in a hundred is lost."""
    row, stop = gate_runs()[0], Outcome.EMERGENCY_STOP.value
    rows = [
        replace(
            row, arm=arm, scene_seed=scene, distortion_id=distorted, level=5 if distorted else 0, schedule="",
            outcome=stop if distorted and arm == "off" and scene < stops else Outcome.SUCCESS.value,
        )
        for arm in ("off", "learned") for scene in range(scenes) for distorted in ("", "04")
    ]  # fmt: skip
    comparison = compare_arms(rows, ["off", "learned"], draws=200)
    found = {goal.what: goal for goal in goals_of(comparison)}
    assert found["emergency stops cut"].percent.value == 100.0
    assert found["emergency stops cut"].reached == cut
    assert found["success lost on undistorted runs"].reached == lost
    none = comparison.of("all", "learned", Measure.EMERGENCY_STOPS).estimate
    assert (none.value, none.low) == (0.0, 0.0)
    assert (1 - none.high) ** scenes == pytest.approx(0.025), "as likely as 2.5 %: no stop in all of them"
    unsure, _ = missed(list(found.values()))  # the other: no wrong motion happened without a gate
    assert unsure.startswith("Not shown, because the interval does not reach the goal: ")


def test_the_page_states_misses_and_every_measure_of_every_gate(tmp_path: Path) -> None:
    text = markdown(stored_gates(), tmp_path)
    words = " ".join(text.split())
    assert "## Against the goals Missed: 10 scenes, goal at least 100. Missed by `learned`: wrong" in words
    files = "\n".join(file.read_text(encoding="utf-8") for file in (tmp_path / "tables").glob("*.csv"))
    assert "\nlearned,0.200 (" in files, "risk beside availability"
    assert "\nwrong motions a run,off,10,10,0.8," in files
    for measure in Measure:
        assert re.search(rf"^\"?04[^|\n]*,{re.escape(TITLES[measure])},oracle,", files, re.MULTILINE), measure
    assert "embodied-iqa experiment --vla panel-vla-query --first-tasks 2" in text


def test_the_page_compares_policies_under_each_gate(tmp_path: Path) -> None:
    one, several = "panel-vla-query", "panel-vla-query or panel-vla-side"
    rows = [replace(row, subject=one) for row in gate_runs()]
    better = [replace(row, subject=several, outcome=Outcome.SUCCESS.value, wrong_motions=0) for row in rows]
    never = "panel-vla-hand"
    failed = [replace(row, subject=never, outcome=Outcome.FAILURE.value) for row in rows]
    plan = replace(PLAN, subjects=(parse_vla(one), parse_vla(several), parse_vla(never)))
    text = markdown(StoredExperiment(plan, {}, (*rows, *better, *failed), 10), tmp_path)
    lines = text[text.index("## By policy") :].split("\n")
    found = [line for line in lines if line.startswith(f"| {several} | learned |")]
    assert len(found) == 2  # all distorted and the undistorted runs
    assert found[0].split(" | ")[3:5] == ["1.000 (0.692 to 1.000)", "0.000 (0.000 to 0.308)"]
    assert any(line.startswith(f"| {one} | off |") for line in lines)
    assert any(line.startswith(f"| {never} | off | 0 | \N{EM DASH} |") for line in lines)
    assert "goal" not in text  # goals compare one policy with and without a gate


def test_report_page_and_terminal_have_the_detectors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = DetectorResult(
        name="SAFE-like", runs=20, wrong=8, auc=0.91, auc_low=0.8, auc_high=0.97, auc_distorted=0.7,
        auc_first=0.88, auc_failed=None, clean_alarms=0.05, harmless_alarms=0.3, stopped=0.75,
        stopped_at_first=0.5, detection_s=None, cost_ms=4.2,
    )  # fmt: skip
    compared = ComparedDetectors(0.05, 10, (result,))
    text = markdown(stored_gates(), tmp_path, compared)
    assert "- [20 runs in 10 scenes, 8 with a wrong motion](tables/page-gates-detectors.csv)" in text
    rows = (tmp_path / "tables/page-gates-detectors.csv").read_text(encoding="utf-8")
    assert "\nSAFE-like,0.91,0.800 to 0.970,0.7,0.88,,0.05," in rows
    comparison = compare_arms(gate_runs(), GATES.split(","), draws=20)
    written = write_experiment_report(stored_gates(), comparison, tmp_path, compared)
    assert "SAFE-like" in written.read_text(encoding="utf-8")
    assert (tmp_path / "report_tables" / "detectors.csv").is_file()
    print_detectors(compared)
    assert "0.91" in capsys.readouterr().out
    tree = as_tree(mean_rows(score_rows(gate_runs())), comparison, compared)
    assert tree["detectors"]["detectors"][0]["auc"] == 0.91


def test_the_command_repeats_the_plan_and_the_parameters() -> None:
    words = shlex.split(command_of(PLAN, {"gate_node.views": ["top"], "gate_node.judge.lease.ttl_s": 0.12}))
    _, arguments = parse(words[1:])
    assert (arguments.first_tasks, arguments.scenes, arguments.scene_seed, arguments.gate) == (2, 5, 7, GATES)
    assert parse_distortions(arguments.distortions, (5,), 0, schedules_of(arguments)) == PLAN.distortions
    assert arguments.set == ["gate_node.views=[top]"]
    assert (arguments.ros, arguments.vlm) == (False, "")
    _, arguments = parse(shlex.split(command_of(PLAN, {"engine": "ros", "vlm": "panel-vlm-fine"}))[1:])
    assert (arguments.ros, arguments.vlm) == (True, "panel-vlm-fine")
    _, arguments = parse(shlex.split(command_of(PLAN, {"engine": "ros", "arm_node.robot": "ur5"}))[1:])
    assert arguments.robot_ip == "ADDRESS", "it is not recorded"


def test_the_command_has_no_names_that_would_be_refused() -> None:
    stored = {"gate_node.judge.ttl_ms": 200.0, "sim_node.lease_window_s": 0.02, "engine": "mujoco 3"}
    words = command_of(
        PLAN, stored | {"vla_node.subject": "panel-vla-side", "gate_node.judge.trip_frames": 4}
    )
    _, arguments = parse(shlex.split(words)[1:])
    assert arguments.set == ["gate_node.judge.trip_frames=4"]


def test_an_unfinished_experiment_gives_its_finished_scenes(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path, {}, PLAN)
    row = gate_runs()[0]
    for key in PLAN.runs()[:-1]:
        folder.add(key, replace(row, arm=key.arm.name))
    stored = read_experiment(tmp_path)
    assert stored.plan == PLAN
    assert stored.finished == 9
    assert len(stored.rows) == 9 * 6
    page = tmp_path / "page.md"
    assert main(["report", str(tmp_path), "--markdown", str(page)]) == 0, "all runs failed: no match counts"
    assert "in 9 of 10 scenes, undistorted" in " ".join(page.read_text(encoding="utf-8").split())


def test_an_experiment_without_gates_or_finished_scenes_has_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ExperimentFolder(tmp_path / "begun", {}, PLAN)
    assert main(["report", str(tmp_path / "begun")]) == 1
    assert "has all of its runs" in capsys.readouterr().err
    ExperimentFolder(tmp_path / "alone", {}, replace(PLAN, arms=parse_arms("off")))
    assert main(["report", str(tmp_path / "alone")]) == 1
    assert "compares no gates; expected an experiment with --gate off,..." in capsys.readouterr().err

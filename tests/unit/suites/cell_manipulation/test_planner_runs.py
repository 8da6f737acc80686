"""A run of a planner in the cell: files, continuation, replay, report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Never

import pytest

from accessibility import needs_axe, report_violations
from chromium_pipe import chromium
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import unstructure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.models.subjects.reference import parse_planner
from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import Episode, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes, write_episodes
from embodied_iqa.suites.cell_manipulation.planning import runner
from embodied_iqa.suites.cell_manipulation.planning.arms import Arm
from embodied_iqa.suites.cell_manipulation.planning.planner_options import GateArm
from embodied_iqa.suites.cell_manipulation.planning.planner_results import read_transcripts
from embodied_iqa.suites.cell_manipulation.planning.runner import RunPlan, check_run
from embodied_iqa.suites.cell_manipulation.planning.transcript import Transcript, replay

COMMAND = ("--language-only", "--shots", "0")


@pytest.fixture(scope="module")
def episode() -> Episode:
    return next(make_episodes((Subset.BASE,), 1))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, episode: Episode) -> Path:
    folder = tmp_path_factory.mktemp("manipulation")
    write_episodes(folder / "ep", [episode])
    for planner in ("planner-blind", "planner-reader"):
        out = str(folder / planner)
        command = ["evaluate", "manipulation", str(folder / "ep"), "--planner", planner, "--out", out]
        assert main([*command, *COMMAND]) == 0
    return folder


def stored(ran: Path, planner: str) -> Transcript:
    (one,) = read_transcripts(ran / planner)
    return one


def test_who_reads_the_true_list_solves_the_task_and_who_is_blind_does_not(ran: Path) -> None:
    assert stored(ran, "planner-reader").success
    blind = stored(ran, "planner-blind")
    assert not blind.success
    assert sum(turn.costs for turn in blind.turns) == 15


def test_the_files_are_those_of_the_protocol(ran: Path) -> None:
    folder = ran / "planner-reader" / "clean" / "base"
    result = json.loads((folder / "results" / "episode_0_res.json").read_text())
    assert set(result) == {
        "instruction",
        "reward",
        "action_success",
        "avg_reward",
        "task_success",
        "num_steps",
        "planner_steps",
        "planner_output_error",
        "episode_elapsed_seconds",
    }
    assert (result["task_success"], result["reward"][-1], result["planner_steps"]) == (1.0, 1.0, 1)
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["total_num_tasks"], summary["success_rate"]) == (1, 1.0)
    assert "executable_plan" in (folder / "results" / "planner_output_episode_0.txt").read_text()
    assert json.loads((folder / "config.txt").read_text())["arm"] == "clean"


def test_a_transcript_replays_in_physics(ran: Path) -> None:
    with Environment(EnvironmentOptions(())) as environment:
        replay(stored(ran, "planner-reader"), environment)


def test_replay_compares_a_run_and_finds_what_was_changed(
    ran: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ran / "planner-reader", tmp_path / "run")
    assert main(["manipulate", "replay", str(tmp_path / "run")]) == 0
    assert "1 of 1 episodes: the same outcome" in capsys.readouterr().out
    file = tmp_path / "run" / "clean" / "base" / "transcripts" / "episode_0.json"
    tree = json.loads(file.read_text())
    name = tree["turns"][0]["steps"][1]["objects"]
    name[next(iter(name))][0] += 1
    file.write_text(json.dumps(tree))
    assert main(["manipulate", "replay", str(tmp_path / "run"), "--json"]) == 1
    (line,) = json.loads(capsys.readouterr().out)["different"]
    assert line.startswith("clean: step 2 of base-000 ends otherwise")
    assert main(["manipulate", "replay", str(tmp_path)]) == 1
    assert "no run in" in capsys.readouterr().err


def test_a_finished_run_asks_nobody_again_and_another_plan_is_refused(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = unstructure(stored(ran, "planner-blind"))
    out = str(ran / "planner-blind")
    command = ["evaluate", "manipulation", str(ran / "ep"), "--planner", "planner-blind", "--out", out]
    assert main([*command, *COMMAND]) == 0
    assert unstructure(stored(ran, "planner-blind")) == before
    assert main([*command, "--language-only", "--shots", "1"]) == 2
    assert "another plan" in capsys.readouterr().err


def test_episodes_that_another_process_finishes_before_the_lock_is_taken_are_not_repeated(
    ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, asked = ran / "planner-blind", list[object]()
    (transcript,) = out.glob("**/transcripts/*.json")
    away, locked = transcript.rename(ran / "away"), JobFolder.locked

    def locked_later(folder: JobFolder) -> AbstractContextManager[None]:
        away.rename(transcript)
        return locked(folder)

    def run_jobs(jobs: Iterable[object], _engine: object) -> Iterator[Never]:
        asked.extend(jobs)
        return iter(())

    monkeypatch.setattr(JobFolder, "locked", locked_later)
    monkeypatch.setattr(runner, "run_jobs", run_jobs)
    command = ["evaluate", "manipulation", str(ran / "ep"), "--planner", "planner-blind", "--out", str(out)]
    assert main([*command, *COMMAND]) == 0
    assert not asked


@needs_axe
def test_axe_finds_no_violation_in_the_report(ran: Path, tmp_path: Path) -> None:
    with chromium(tmp_path / "profile") as browser:
        assert report_violations(browser, ran / "planner-reader" / "report.html") == []


def test_the_report_names_the_other_simulator(ran: Path) -> None:
    page = (ran / "planner-reader" / "report.html").read_text(encoding="utf-8")
    assert "planner-reader solves 100.0 % of 1 episode" in page
    assert "EmbodiedBench&#39;s own simulator" in page
    assert "How success is judged" in page
    assert "How the scores are computed" not in page
    table = (ran / "planner-reader" / "report_tables" / "leaderboard.csv").read_text()
    assert table.count("own simulator") == 14


def test_the_results_page_has_the_table_of_each_run(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = ran / "page.md"
    marks = "".join(f"## {name}\n\n<!-- begin {name} -->\n<!-- end {name} -->\n\n" for name in ("one", "two"))
    page.write_text(f"# Planners\n\nA note.\n\n{marks}The end.\n")
    for planner, name in (("planner-reader", "one"), ("planner-blind", "two")):
        command = ["report", str(ran / planner), "--markdown", str(page), "--section", name]
        assert main(command) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Planners\n\nA note.\n\n## one\n\n<!-- begin one -->\n\nplanner-reader solves")
    assert text.endswith("<!-- end two -->\n\nThe end.\n")
    assert "| base | 100.0 | 20.7 | 100.0 | 1 |" in text
    assert "| base | 0.0 | 0.0 | 79.3 | 1 |" in text
    assert text.count("no images") == 2
    assert "own simulator" not in text, "published rows stay in the report"
    command = ["report", str(ran / "planner-blind"), "--markdown", str(page), "--section", "two"]
    assert main([*command, "--chapters", "errors,none"]) == 2
    assert "unknown chapter; got 'none'" in capsys.readouterr().err
    assert main([*command, "--chapters", "errors"]) == 0
    assert "| base | 0.0 | 0.0 | 79.3 | 1 |" not in page.read_text(encoding="utf-8")


def test_errors_of_a_run_are_printed_and_labelled(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = ran / "labels.csv"
    labels.write_text("arm,episode,kind\nclean,base-000,reflection\n")
    command = ["manipulate", "errors", str(ran / "planner-blind"), "--json", "--labels", str(labels)]
    assert main(command) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["kind"], one["by_hand"], one["class"]) == ("reflection", True, "reasoning")


def test_a_run_goes_on_with_the_same_episodes_only(
    ran: Path, episode: Episode, capsys: pytest.CaptureFixture[str]
) -> None:
    write_episodes(ran / "other", [next(make_episodes((Subset.BASE,), 2))])
    command = ["evaluate", "manipulation", str(ran / "other"), "--planner", "planner-blind"]
    assert main([*command, "--out", str(ran / "planner-blind"), *COMMAND]) == 2
    assert "another plan: episode_seeds is [" in capsys.readouterr().err
    assert stored(ran, "planner-blind").episode == episode


def plan(arm: Arm, gate: Path | None = None, judge: str = "statistics") -> RunPlan:
    return RunPlan(parse_planner("planner-blind"), (arm,), size_px=96, gate_file=gate, judge=judge)


def begin(out: Path, begun: RunPlan, episode: Episode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a run that is killed before its first episode, in a folder with results of another arm."""
    monkeypatch.setattr(runner, "run_block", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        runner.run_benchmark([episode], out, begun, EngineOptions(), lambda _done, _total: None)
    (out / "other").mkdir(exist_ok=True)
    (out / "other" / "episode_0.json").touch()


def test_a_run_that_failed_before_its_first_episode_does_not_refuse_the_corrected_plan(
    tmp_path: Path, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, wrong = tmp_path / "run", plan(Arm(parse_distortion("12:3", seed=1)))
    begin(out, wrong, episode, monkeypatch)
    (out / "other" / "episode_0.json").unlink()
    right = replace(plan(Arm(parse_distortion("12:3", seed=2))), size_px=128)
    check_run(out, right, [episode])
    begin(out, right, episode, monkeypatch)
    assert load_json(out / "run.json", "the plan")["size_px"] == 128
    assert len(list(out.rglob("config.txt"))) == 1
    with pytest.raises(UsageError, match="another plan"):
        check_run(out, wrong, [episode])


def test_an_arm_keeps_the_seed_of_its_distortion(
    tmp_path: Path, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, first = tmp_path / "run", plan(Arm(parse_distortion("12:3", seed=1)))
    begin(out, first, episode, monkeypatch)
    check_run(out, first, [episode])
    check_run(out, plan(Arm(parse_distortion("12:4", seed=2))), [episode])
    with pytest.raises(UsageError, match=r"another plan.*distortion_seed"):
        check_run(out, plan(Arm(parse_distortion("12:3", seed=2))), [episode])


def test_gates_may_be_added_to_a_run_but_not_exchanged(
    tmp_path: Path, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "check_gate", lambda _: None)
    out, gate, held = tmp_path / "run", tmp_path / "gate.yaml", Arm(gate=GateArm.HOLD)
    gate.write_text("one")
    begin(out, plan(Arm()), episode, monkeypatch)
    begin(out, plan(held, gate), episode, monkeypatch)
    begin(out, plan(Arm()), episode, monkeypatch)
    assert load_json(out / "run.json", "the plan")["judge"] == "statistics"
    with pytest.raises(UsageError, match=r"another plan.*judge"):
        check_run(out, plan(held, gate, "learned"), [episode])
    gate.write_text("two")
    check_run(out, plan(Arm(), gate), [episode])
    with pytest.raises(UsageError, match=r"another plan.*gate_sha256"):
        check_run(out, plan(held, gate), [episode])


def test_a_folder_of_something_else_is_not_written_to(tmp_path: Path, episode: Episode) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds no planner run"):
        check_run(tmp_path, plan(Arm()), [episode])
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InputError, match="is not a plan"):
        check_run(tmp_path, plan(Arm()), [episode])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--levels", "3"), "levels of no distortion"),
        (("--calibration", "gate.yaml"), "a calibration of no gate"),
        (("--multiview", "--history"), "exclude each other"),
        (("--levels", "0-9", "--distortions", "all"), "unknown levels"),
        (("--gate", "hold"), "calibration"),
        (("--subset", "spatial"), "no episodes of this subset"),
    ],
)
def test_wrong_options_are_usage_errors_in_one_line(
    ran: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "manipulation", str(ran / "ep"), "--planner", "planner-blind"]
    assert main([*command, "--out", str(ran / "new"), *words]) == 2
    assert message in capsys.readouterr().err

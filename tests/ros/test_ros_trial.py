"""A complete trial through the command line: its output, and its early ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.runs.graph.node_table import GRAPH
from live_process import Program, running_program
from small_disk import small_disk

TASK = "pick the red cube"
DEADLINE_S = 110.0
INTERRUPTED_S = 30.0
STOP_S = 60.0
COMMAND = (sys.executable, "-m", "embodied_iqa.cli.main", "trial", "--task", TASK, "--scene-seed", "7")


@dataclass
class Trial:
    """A running command."""

    program: Program
    folder: Path

    def wait_for_recording(self) -> None:
        recording = self.folder / "trial.mcap"
        self.program.wait_until(
            lambda: recording.is_file() and recording.stat().st_size > 5_000_000, "a recording", DEADLINE_S
        )

    def nodes(self) -> dict[str, int]:
        """Names and ids of the processes that run with this trial's parameters."""
        mark = str(self.folder.resolve() / "log" / "parameters.yaml")
        return {
            next(word for word in words if "nodes." in word).rpartition(".")[2]: pid
            for pid, words in self.program.running().items()
            if mark in words
        }


@contextmanager
def begin(domain: int, folder: Path, logs: Path, *more: str) -> Iterator[Trial]:
    command = [*COMMAND, "--run-dir", str(folder), *more]
    with running_program(command, logs, {"ROS_DOMAIN_ID": str(domain)}) as program:
        yield Trial(program, folder)


@pytest.fixture(scope="module")
def done(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """One task: the reference run and one with lost blocks."""
    runs = tmp_path_factory.mktemp("runs")
    words = ("--distortion", "20:5", "--gate", "shadow", "--json")
    with begin(ros_domain, runs / "one", runs, *words) as trial:
        assert trial.program.wait(DEADLINE_S) == 0
        assert trial.nodes() == {}
    return json.loads(trial.program.stdout), trial.folder


def test_printed_and_written_scores_are_equal(done: tuple[dict[str, Any], Path]) -> None:
    scores, folder = done
    assert json.loads((folder / "scores.json").read_text(encoding="utf-8")) == scores


def test_a_run_for_the_reference_and_for_each_distortion(done: tuple[dict[str, Any], Path]) -> None:
    reference, spoilt = done[0]["runs"]
    assert reference["distortion"] is None
    assert {"id": "20", "level": 5, "seed": 0}.items() <= spoilt["distortion"].items()
    for run in (reference, spoilt):
        assert (run["task"], run["scene_seed"], run["gate"]["mode"]) == (TASK, 7, "shadow")
        assert {"bleu", "rouge", "cider", "score", "answer", "reference_answer"} <= set(run["cognition"])
        assert {"position", "rotation", "state", "score", "position_error_mm"} <= set(run["decision"])
        assert {"outcome", "score", "distance_cm"} <= set(run["execution"])
        frames = run["frames"]
        assert frames["lost"] == 0
        assert frames["published"] == frames["received"] > 50
        assert sum(run["gate"][verdict] for verdict in ("pass", "hold", "reject")) == frames["received"]
        assert set(run["latency_ms"]) == {"gate", "vlm", "vla"}


def test_the_reference_run_scores_fully_and_the_distorted_run_does_not(
    done: tuple[dict[str, Any], Path],
) -> None:
    reference, spoilt = done[0]["runs"]
    assert (reference["cognition"]["score"], reference["decision"]["score"]) == (1.0, 1.0)
    assert (reference["execution"]["outcome"], reference["execution"]["score"]) == ("success", 100.0)
    assert spoilt["cognition"]["reference_answer"] == reference["cognition"]["answer"], "the same scene"
    assert spoilt["cognition"]["score"] < 0.9
    assert spoilt["decision"]["score"] < 0.9
    assert spoilt["execution"]["outcome"] != "success"
    assert spoilt["gate"]["pass"] == 0


def test_the_folder_holds_the_documented_files(done: tuple[dict[str, Any], Path]) -> None:
    _, folder = done
    assert {"trial.mcap", "scores.json", "report.html", "config.yaml", "log"} <= {
        path.name for path in folder.iterdir()
    }
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    assert config["parameters"]["gate_node"]["judge.mode"] == "shadow"
    assert config["distortions"] == [{"id": "20", "level": 5, "seed": 0, "frozen": False, "schedule": ""}]
    for entry in GRAPH:
        log = folder / "log" / f"{entry.name}.log"
        assert not log.is_file() or "Traceback" not in log.read_text(), entry.name


def test_rescoring_gives_the_same_numbers(done: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    scores, folder = done
    assert main(["rescore", str(folder / "trial.mcap"), "--out", str(tmp_path / "again")]) == 0
    again = json.loads((tmp_path / "again" / "scores.json").read_text(encoding="utf-8"))
    assert again["runs"] == scores["runs"]


def test_ctrl_c_ends_everything_and_closes_the_file(ros_domain: int, tmp_path: Path) -> None:
    with begin(ros_domain, tmp_path / "run", tmp_path, "--no-distortion") as trial:
        trial.wait_for_recording()
        assert len(trial.nodes()) >= 9
        os.kill(trial.program.process.pid, signal.SIGINT)
        assert trial.program.wait(INTERRUPTED_S) == 130
        said = trial.program.stderr
        assert "Traceback" not in said
        assert said.strip().endswith("embodied-iqa: interrupted")
        assert trial.nodes() == {}
    with TrialReader(trial.folder / "trial.mcap") as reader:
        assert "/camera/top/image_raw" in reader.topics
    assert not (trial.folder / "scores.json").exists(), "nothing half-written"


def test_a_full_disk_is_named_and_what_was_recorded_is_reported(ros_domain: int, tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", 40) as disk,
        begin(ros_domain, disk / "run", tmp_path, "--distortion", "20:5") as trial,
    ):
        assert trial.program.wait(DEADLINE_S) == 1
        said = trial.program.stderr
        assert "Traceback" not in said
        assert f"the disk at {disk} is full" in said
        assert "what was recorded: embodied-iqa report" in said
        assert trial.nodes() == {}
        log = (trial.folder / "log" / "recorder_node.log").read_text(encoding="utf-8")
        assert (
            f"recording failed: '{trial.folder / 'trial.mcap'}': cannot write the recording: the disk" in log
        )
        assert main(["report", str(trial.folder), "--out", str(tmp_path / "report.html")]) == 0
        assert "The session did not finish" in (tmp_path / "report.html").read_text(encoding="utf-8")
        report = recover(trial.folder / "trial.mcap")
        assert report.output is None, "undamaged"
        assert report.messages["/camera/top/image_raw"] > 5


def test_a_node_that_dies_is_reported_and_ends_the_trial(ros_domain: int, tmp_path: Path) -> None:
    with begin(ros_domain, tmp_path / "run", tmp_path, "--no-distortion") as trial:
        trial.wait_for_recording()
        os.kill(trial.nodes()["vla_node"], signal.SIGKILL)
        assert trial.program.wait(STOP_S) == 1
        said = trial.program.stderr
        assert "Traceback" not in said
        assert "vla_node ended (signal SIGKILL); its log ends:" in said
        assert trial.nodes() == {}
    with TrialReader(trial.folder / "trial.mcap") as reader:
        assert "/trial/events" in reader.topics

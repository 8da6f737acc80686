"""A complete trial through the command line: its output, and its early ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import yaml

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.runs.graph.graph_nodes import GRAPH
from live_process import COMPLETION_S, TRIAL_S
from live_trial import NOISE, PALE, SCENE_SEED, TASK, Session, begin, still_cell, undecided
from small_disk import small_disk

NODES_WITHOUT_ARM = {entry.name for entry in GRAPH} - {"playback_node", "sim_node", "arm_node"}
LONG = [word for level in range(1, 6) for word in ("--distortion", f"20:{level}")]
"""Some hundred images of 640x480: a disk of 16 MB holds seventeen."""


def test_printed_and_written_scores_are_equal(session: Session) -> None:
    written = (session.folder / "scores.json").read_text(encoding="utf-8")
    assert json.loads(written) == session.scores


def test_a_run_for_the_reference_and_for_each_distortion(session: Session) -> None:
    reference, *spoilt = session.scores["runs"]
    assert reference["distortion"] is None
    for spec, run in zip((NOISE, PALE), spoilt, strict=True):
        assert {"id": spec.id, "level": spec.level, "seed": 0}.items() <= run["distortion"].items()
    for run in (reference, *spoilt):
        assert (run["task"], run["scene_seed"], run["gate"]["mode"]) == (TASK, SCENE_SEED, "shadow")
        assert {"bleu", "rouge", "cider", "score", "answer", "reference_answer"} <= set(run["cognition"])
        assert {"position", "rotation", "state", "score", "position_error_mm"} <= set(run["decision"])
        assert {"outcome", "score", "distance_cm"} <= set(run["execution"])
        frames = run["frames"]
        assert frames["lost"] == 0
        assert frames["published"] == frames["received"] > 50
        assert sum(run["gate"][verdict] for verdict in ("pass", "hold", "reject")) == frames["received"]
        assert set(run["latency_ms"]) == {"gate", "vlm", "vla"}


def test_the_reference_run_scores_fully_and_the_distorted_run_does_not(session: Session) -> None:
    reference, _noisy, spoilt = session.scores["runs"]
    assert (reference["cognition"]["score"], reference["decision"]["score"]) == (1.0, 1.0)
    assert (reference["execution"]["outcome"], reference["execution"]["score"]) == ("success", 100.0)
    assert spoilt["cognition"]["reference_answer"] == reference["cognition"]["answer"], "the same scene"
    assert spoilt["cognition"]["score"] < 0.9
    assert spoilt["decision"]["score"] < 0.9
    assert spoilt["execution"]["outcome"] != "success"
    assert spoilt["gate"]["pass"] == 0


def test_the_folder_holds_the_documented_files(session: Session) -> None:
    folder = session.folder
    assert {"trial.mcap", "scores.json", "report.html", "config.yaml", "log"} <= {
        path.name for path in folder.iterdir()
    }
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    assert config["parameters"]["gate_node"]["judge.mode"] == "shadow"
    assert config["distortions"] == [
        {"id": spec.id, "level": spec.level, "seed": 0, "frozen": False, "schedule": ""}
        for spec in (NOISE, PALE)
    ]
    for entry in GRAPH:
        log = folder / "log" / f"{entry.name}.log"
        assert not log.is_file() or "Traceback" not in log.read_text(), entry.name


def test_rescoring_gives_the_same_numbers(session: Session, tmp_path: Path) -> None:
    words = ["--calibration", str(session.calibration), "--out", str(tmp_path / "again")]
    assert main(["rescore", str(session.recording), *words]) == 0
    again = json.loads((tmp_path / "again" / "scores.json").read_text(encoding="utf-8"))
    assert again["runs"] == session.scores["runs"]


def test_ctrl_c_ends_everything_and_closes_the_file(ros_domain: int, tmp_path: Path) -> None:
    with undecided(ros_domain, tmp_path) as trial:
        trial.wait_for_recording()
        assert set(trial.nodes()) == NODES_WITHOUT_ARM
        os.kill(trial.program.process.pid, signal.SIGINT)
        assert trial.program.wait(COMPLETION_S) == 130
        said = trial.program.stderr
        assert "Traceback" not in said
        assert said.strip().endswith("embodied-iqa: interrupted")
        assert trial.nodes() == {}
    with TrialReader(trial.folder / "trial.mcap") as reader:
        assert "/camera/top/image_raw" in reader.topics
    assert not (trial.folder / "scores.json").exists(), "nothing half-written"


def test_a_full_disk_is_named_and_what_was_recorded_is_reported(ros_domain: int, tmp_path: Path) -> None:
    still = still_cell(tmp_path, 640, 480)
    with (
        small_disk(tmp_path / "disk", 16) as disk,
        begin(ros_domain, disk / "run", tmp_path, *still, *LONG) as trial,
    ):
        assert trial.program.wait(TRIAL_S) == 1
        said = trial.program.stderr
        assert "Traceback" not in said
        assert f"the disk at {disk} is full" in said
        page = trial.folder / "report.html"  # where what is left of the disk holds it, else the command
        is_there, folder = page.is_file(), os.path.relpath(trial.folder)
        how = os.path.relpath(page) if is_there else f"embodied-iqa report {folder}"
        assert f"what was recorded: {how}\n" in said
        assert trial.nodes() == {}
        log = (trial.folder / "log" / "recorder_node.log").read_text(encoding="utf-8")
        assert (
            f"recording failed: '{trial.folder / 'trial.mcap'}' cannot write the recording: the disk" in log
        )
        assert main(["report", str(trial.folder), "--out", str(tmp_path / "report.html")]) == 0
        assert "The session did not finish" in (tmp_path / "report.html").read_text(encoding="utf-8")
        report = recover(trial.folder / "trial.mcap")
        assert report.output is None, "undamaged"
        assert report.messages["/camera/top/image_raw"] > 5


def test_a_node_that_dies_is_reported_and_ends_the_trial(ros_domain: int, tmp_path: Path) -> None:
    with undecided(ros_domain, tmp_path) as trial:
        trial.wait_for_recording()
        os.kill(trial.nodes()["vla_node"], signal.SIGKILL)
        assert trial.program.wait(COMPLETION_S) == 1
        said = trial.program.stderr
        assert "Traceback" not in said
        assert "vla_node ended (signal SIGKILL); its log ends:" in said
        assert trial.nodes() == {}
    with TrialReader(trial.folder / "trial.mcap") as reader:
        assert "/trial/events" in reader.topics

"""A person ends a run: with a key in front of `embodied-iqa trial`, which calls the service of trial_node.

Meanwhile no socket of the whole graph listens to other machines.
"""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.runs.graph.graph_nodes import GRAPH
from graph_sockets import assert_only_this_machine_hears
from live_process import TRIAL_S
from live_trial import FEW_IMAGES, VLM, begin, small_images, words_of

NODES = {entry.name for entry in GRAPH} - {"playback_node"}
RESTLESS = """
from pathlib import Path

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo


class Restless:
    info = SubjectInfo("restless", "1", "Never comes to an end.", (View.TOP,))

    def act(self, observation):
        if observation.step == 3:
            Path(__file__).with_name("moved").touch()
        height_m = 0.02 if observation.step % 2 else -0.02
        return ActionChunk(ChunkStatus.ACT, np.array([[0, 0, height_m, 0, 0, 0, 0.0]]), "up and down")
"""


def test_a_key_ends_the_run_live_and_rescored_and_no_other_machine_heard_it(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sockets are looked at while the nodes load: the run goes on for as long as that takes."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "restless.py").write_text(RESTLESS, encoding="utf-8")
    folder = tmp_path / "run"
    words = ["--no-distortion", "--vla", "python:restless:Restless", "--vlm", VLM, "--gate", "off", "--json"]
    # the run cannot end by a count, and its limit is beyond the deadline of this test
    endless = {"vla_node.max_chunks": 0, "trial_node.run_limit_s": 3600}
    words += words_of(small_images(tmp_path) | FEW_IMAGES | {"camera_node.views": '["top"]'} | endless)
    search_path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": search_path}
    ours, theirs = pty.openpty()
    try:
        with begin(ros_domain, folder, tmp_path / "logs", *words, variables=variables, stdin=theirs) as trial:
            program = trial.program
            program.wait_until(lambda: set(trial.nodes()) == NODES, "all nodes", TRIAL_S)
            assert_only_this_machine_hears(ros_domain, trial.nodes(), tmp_path)
            program.wait_until((tmp_path / "moved").is_file, "an arm that has moved", TRIAL_S)
            os.write(ours, b"e\n")
            assert program.wait(TRIAL_S) == 0
    finally:
        os.close(ours)
        os.close(theirs)
    (run,) = json.loads(program.stdout)["runs"]
    assert run["execution"]["outcome"] == "failure"
    assert run["execution"]["reason"].startswith("ended by a person")
    assert "e and Enter end a run, and stop a real arm" in program.stderr
    assert main(["rescore", str(folder / "trial.mcap"), "--out", str(tmp_path / "again")]) == 0
    again = json.loads((tmp_path / "again" / "scores.json").read_text(encoding="utf-8"))
    assert again["runs"] == [run]

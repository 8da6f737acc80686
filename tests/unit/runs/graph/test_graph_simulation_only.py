"""A policy for simulation only must not move a real arm, whichever way it is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from embodied_iqa.base.errors import UsageError, UserError
from embodied_iqa.cli.main import main
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import info_of, make_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.session_plan import check_subjects
from real_arm import WORKSPACE
from wire_servers import reference_server, serving

PANEL = "panel-vla-query"
REAL = {
    "arm_node.robot": "ur5",
    "arm_node.model": "ur5",
    **WORKSPACE,
    "arm_node.ur.ip": "192.168.1.10",
    "camera_node.source": "realsense",
}
SLOW = {"arm_node.limits.joint_speed_radps": 1.0}
JOINTS = "commands the joints of a UR5 with a tool of 0.2 m; expected that arm and that tool .*; got '{}'"
REFUSED = "is for simulation only and must not move a real arm; expected vla_node.subject"


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The panel's policy behind our own server."""
    with serving(serve_vla(parse_vla(PANEL))) as port:
        yield f"openpi://127.0.0.1:{port}"


@pytest.fixture
def own_panel(tmp_path: Path) -> Path:
    """A member of a panel of the user's own."""
    for suffix in (".onnx", ".json"):
        shutil.copyfile(MODELS / f"{PANEL}{suffix}", tmp_path / f"mine{suffix}")
    return tmp_path / "mine"


def refuse(overrides: dict[str, object], files: tuple[Path, ...] = ()) -> None:
    with pytest.raises(UsageError, match=REFUSED) as caught:
        check_subjects(resolve(files, REAL | overrides))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [PANEL, f" {PANEL}", f"{PANEL} ", f"\t{PANEL}", f"{PANEL}=openpi://gpu:8000"]
)
def test_by_name(text: str) -> None:
    refuse({"vla_node.subject": text})


def test_in_a_parameter_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"vla_node:\n  ros__parameters:\n    subject: ' {PANEL}'\n")
    refuse({}, (file,))


def test_a_panel_of_ones_own_as_its_card_declares(own_panel: Path) -> None:
    reference = f"panel:{own_panel}"
    refuse({"vla_node.subject": reference})
    card = own_panel.with_suffix(".json")
    tree = json.loads(card.read_text())
    del tree["simulation_only"]  # a card of an older version
    card.write_text(json.dumps(tree))
    refuse({"vla_node.subject": reference})
    card.write_text(json.dumps(tree | {"simulation_only": False}))
    check_subjects(resolve((), REAL | {"vla_node.subject": reference}))
    assert not make_vla(parse_vla(reference)).info.simulation_only


def test_behind_our_own_server(served: str) -> None:
    assert info_of(parse_vla(served)).simulation_only
    refuse({"vla_node.subject": served})
    refuse({"vla_node.subject": f"pi0-droid={served}"})
    check_subjects(resolve((), {"vla_node.subject": served}))


@pytest.mark.parametrize(
    ("joints_of", "overrides", "said"),
    [
        ("ur5", {}, ""),
        ("ur5", {"arm_node.model": "ur5e"}, JOINTS.format("ur5e, 0.2 m")),
        ("ur5", {"arm_node.tool_length_m": 0.17}, JOINTS.format("ur5, 0.17 m")),
        ("", {"arm_node.model": "ur5e"}, ""),
        ("panda", {"arm_node.model": "ur5e"}, ""),
        ("a later arm", {}, "does not say which arm's joints it commands"),
    ],
)
def test_joints_of_another_arm_behind_our_own_server(
    joints_of: str, overrides: dict[str, object], said: str
) -> None:
    """The server computes motions of the tool, with the table of the arm that it declares."""
    subject = serve_vla(parse_vla("classical-vla"))
    with serving(replace(subject, info=replace(subject.info, joints_of=joints_of))) as port:
        reference = f"openpi://127.0.0.1:{port}"
        assert info_of(parse_vla(reference)).joints_of == joints_of
        graph = resolve((), REAL | overrides | {"vla_node.subject": reference})
        assert (graph.vla_node.arm_model, graph.vla_node.tool_length_m) == (
            graph.arm_node.model,
            graph.arm_node.tool_length_m,
        )
        with pytest.raises(UsageError, match=said) if said else nullcontext():
            check_subjects(graph)


@pytest.mark.parametrize("name", ["pi0-base", "pi0-base-raw"])
def test_joints_of_a_ur5_behind_a_server_of_another_project(name: str) -> None:
    """Whichever side states the convention."""
    with reference_server({"convention": name}, dict) as port:
        overrides = REAL | {"vla_node.subject": f"openpi://127.0.0.1:{port}"}
        check_subjects(resolve((), overrides))
        with pytest.raises(UsageError, match=JOINTS.format("ur10e, 0.2 m")):
            check_subjects(resolve((), overrides | {"arm_node.model": "ur10e", **SLOW}))


@pytest.mark.parametrize("metadata", [{}, {"joints_of": None}])
def test_an_older_server_of_ours_moves_no_real_arm(metadata: dict[str, object]) -> None:
    told = {"protocol": "embodied-iqa/1", "role": "vla", "simulation_only": False, **metadata}
    with reference_server(told, dict) as port:
        graph = resolve((), REAL | {"vla_node.subject": f"openpi://127.0.0.1:{port}"})
        with pytest.raises(UsageError, match="does not say which arm's joints it commands"):
            check_subjects(graph)


def test_a_server_that_cannot_be_asked_moves_no_real_arm() -> None:
    overrides = REAL | {"vla_node.subject": "openpi://127.0.0.1:9", "vla_node.server.connect_s": 0.1}
    with pytest.raises(UserError, match="no policy server answers"):
        check_subjects(resolve((), overrides))


@pytest.mark.parametrize("command", ["trial", "experiment"])
def test_the_commands_refuse_in_one_line(
    command: str, served: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--robot", "ur5", "--robot-ip", "192.168.1.10", "--camera", "realsense"]
    words += ["--set", "arm_node.model=ur5"]
    words += [word for name, corner_m in WORKSPACE.items() for word in ("--set", f"{name}={corner_m}")]
    if command == "experiment":
        words += ["--ros", "--gate", "on", "--out", str(tmp_path)]
    for text in (f" {PANEL}", served):
        assert main([command, *words, "--vla", text]) == 2
        said = capsys.readouterr().err
        assert REFUSED in said
        assert said.count("\n") == 1

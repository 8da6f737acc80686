"""Several policies of different cameras as one: which of them decides, and what is refused."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

import numpy as np
import pytest

from embodied_iqa import load_vla
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import TOOL_2F140_M
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.cli.build.building import panel_of
from embodied_iqa.cli.subjects.calibrating import calibrate
from embodied_iqa.data.database.building.build_subjects import load_member
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.subjects.actions.real_arm import check_real_arm
from embodied_iqa.models.subjects.alternative_names import policies_in
from embodied_iqa.models.subjects.backends.alternatives import Alternatives
from embodied_iqa.models.subjects.catalogue import Backend, Role
from embodied_iqa.models.subjects.readiness import check_readiness
from embodied_iqa.models.subjects.reference import parse_reference, parse_vla, parse_vlm, role_of
from embodied_iqa.models.subjects.registry import check_backend, make_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions
from embodied_iqa.quality.metrics.policy.distance import make as make_policy_distance
from embodied_iqa.runs.graph.camera_parameters import cameras_of
from embodied_iqa.suites.static_benchmark.vla.stored_chunks import vla_subject
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

NAME = "panel-vla-query or panel-vla-side"


class Named:
    """Says its name, and knows whether it was closed."""

    def __init__(self, name: str, *views: View, rate_hz: float | None = None, limited: bool = False) -> None:
        self.info = SubjectInfo(name, "1", name, views, simulation_only=limited, rate_hz=rate_hz)
        self.closed = False

    def act(self, observation: VlaObservation) -> ActionChunk:
        return ActionChunk.still(ChunkStatus.DONE, f"{self.info.name} {'+'.join(observation.frames)}")

    def close(self) -> None:
        self.closed = True


def showing(*views: View) -> VlaObservation:
    rgb = np.zeros((48, 64, 3), np.uint8)
    return VlaObservation({view: image_frame(rgb, view) for view in views}, "pick it", np.eye(4), 0.0, 0)


def test_the_first_policy_whose_cameras_are_there_decides() -> None:
    both = Alternatives("both", [Named("one", View.TOP), Named("two", View.WRIST, View.SIDE)])
    assert both.info.views == (View.TOP, View.WRIST, View.SIDE)
    assert both.act(showing(View.TOP)).reason == "one top"
    assert both.act(showing(View.WRIST, View.SIDE)).reason == "two wrist+side"
    assert both.act(showing(*both.info.views)).reason.startswith("one ")
    with pytest.raises(UsageError, match=r"a view is missing; expected top or wrist\+side; available: wrist"):
        both.act(showing(View.WRIST))


def test_each_decision_that_the_gate_held_gives_the_turn_to_the_next_policy() -> None:
    info = Alternatives("both", [Named("one", View.TOP), Named("two", View.WRIST, View.SIDE)]).info
    turns = [info.at_turn(turn) for turn in range(4)]
    assert [one.name for one in turns] == ["one", "two"] * 2
    assert turns[1].views == (View.WRIST, View.SIDE)
    assert turns[0].at_turn(3) is turns[0]


def test_policies_that_cannot_be_one_are_refused() -> None:
    with pytest.raises(UsageError, match=r"share a camera.*one: top, two: wrist\+top"):
        Alternatives("both", [Named("one", View.TOP), Named("two", View.WRIST, View.TOP)])
    with pytest.raises(UsageError, match=r"different rates \[Hz\]; got 'one: 5.0, two: None'"):
        Alternatives("both", [Named("one", View.TOP, rate_hz=5.0), Named("two", View.SIDE)])


def test_all_are_for_simulation_if_one_is_and_all_are_closed() -> None:
    policies = [Named("one", View.TOP), Named("two", View.SIDE, limited=True)]
    both = Alternatives("both", policies)
    assert both.info.simulation_only
    both.close()
    assert all(policy.closed for policy in policies)


def test_a_reference_names_them() -> None:
    reference = parse_reference(f" {NAME} ")
    assert (reference.text, reference.role, reference.backend) == (NAME, Role.VLA, Backend.ALTERNATIVES)
    assert [part.text for part in reference.parts] == list(policies_in(NAME))
    assert reference.simulation_only
    assert (policies_in("panel-vla-query"), role_of(NAME)) == (("panel-vla-query",), Role.VLA)
    assert cameras_of(reference) == (View.TOP, View.SIDE)
    assert cameras_of(parse_vla("panel-vla-query or openpi://localhost:8000")) == ()
    assert check_readiness(NAME).is_ready
    check_backend(reference)
    made = make_vla(reference)
    assert (made.info.name, [part.name for part in made.info.parts]) == (NAME, list(policies_in(NAME)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("panel-vla-query or panel-vla-query", "alternatives are different policies"),
        ("panel-vla-query or panel-vlm-fine", "panel-vlm-fine is a VLM, not a VLA"),
        ("panel-vla-query or nothing", "unknown VLA; got 'nothing'"),
        ("panel-vla-query or ", "unknown VLA; got 'panel-vla-query or'"),
    ],
)
def test_wrong_references(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_vla(text)


def test_it_is_no_vlm_and_moves_no_real_arm_where_one_must_not() -> None:
    with pytest.raises(UsageError, match="alternatives are different policies"):
        parse_vlm(NAME)
    with pytest.raises(UsageError, match="panel-vla-side is for simulation only"):
        check_real_arm(parse_vla("classical-vla or panel-vla-side"), VlaOptions(), ArmModel.UR5, TOOL_2F140_M)


@pytest.mark.parametrize(
    "use",
    [
        lambda: serve_vla(parse_vla(NAME)),
        lambda: load_vla(NAME),
        lambda: panel_of(f"classical-vlm, {NAME}"),
        lambda: load_member(parse_vla(NAME), VlmOptions(), VlaOptions()),
        lambda: vla_subject(NAME),
        lambda: make_policy_distance(NAME),
        lambda: calibrate(
            Namespace(name=NAME, role=None, scenes=1, seed=0, config=(), set=(), trust_remote_code=False)
        ),
    ],
)
def test_where_a_question_has_all_views_it_is_refused(use: Callable[[], object]) -> None:
    with pytest.raises(
        UsageError, match=f"^policies take turns in runs only; expected one of them; got '{NAME}'"
    ):
        use()


def test_what_was_loaded_is_closed_where_another_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Named("one", View.TOP)

    def load(part: object, *_: object) -> Named:
        if str(part) == "panel-vla-side":
            raise UsageError("no weights")
        return first

    monkeypatch.setattr("embodied_iqa.models.subjects.backends.alternatives.make_vla", load)
    with pytest.raises(UsageError, match="no weights"):
        make_vla(parse_vla(NAME))
    assert first.closed

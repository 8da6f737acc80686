"""The reference of action conventions agrees with the program: every row and every option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from embodied_iqa.base.config import parameters_of
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.models.subjects.actions.convention import ActionFrame, ActionKind, RotationForm
from embodied_iqa.models.subjects.actions.table import CONVENTIONS
from embodied_iqa.runs.graph.parameters import VlaParameters

DOCS = (source_checkout() or Path()) / "docs"
PAGE = (DOCS / "reference" / "action-conventions.md").read_text(encoding="utf-8")
ROWS = {
    cells[0].strip(" `"): [cell.strip() for cell in cells[1:]]
    for line in PAGE.splitlines()
    if len(cells := line.strip("|").split("|")) == 8 and line.startswith("| `")
}
TURNS = {RotationForm.EULER_XYZ: "roll-pitch-yaw", RotationForm.ROTVEC: "rotation vector"}


def test_the_table_has_every_convention() -> None:
    assert set(ROWS) == set(CONVENTIONS)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_row_says_what_the_convention_is(name: str) -> None:
    convention = CONVENTIONS[name]
    commands, _, frame, unit, gripper, rows, _ = ROWS[name]
    if convention.kind is ActionKind.JOINTS:
        assert f"{convention.joints} joints" in commands
        assert frame == "joints"
        assert unit == f"{convention.joint_scale_rad:g} rad"
        assert commands.startswith("2 x") == (convention.arms == 2)
    else:
        assert commands == "tool pose"
        assert frame == f"{convention.frame}, {TURNS[convention.rotation]}"
        assert unit == f"{convention.position_scale_m:g} m, {convention.rotation_scale_rad:g} rad"
        assert convention.frame in set(ActionFrame)
    form = convention.gripper
    assert gripper.startswith((f"{form.open_at:g} open", f"{form.open_at:g} opens"))
    assert f"{form.closed_at:g} close" in gripper
    assert rows == (str(convention.chunk_length) if convention.chunk_length else "any")


def test_every_option_of_the_page_exists() -> None:
    known = {parameter.name for parameter in parameters_of(VlaParameters)}
    named = set(re.findall(r"`((?:policy|server)\.\w+|answer_deadline_s)`", PAGE))
    assert named
    assert named <= known, named - known
    assert {name for name in known if name.startswith("policy.")} <= named

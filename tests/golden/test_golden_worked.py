"""Worked values of scoring, gate and kinematics: the same on every machine."""

from __future__ import annotations

import golden_files
import pytest
from golden_values import GROUPS


@pytest.mark.parametrize("group", ["scoring", "gate", "kinematics"])
def test_values_are_those_of_the_file(group: str) -> None:
    golden_files.assert_same(group, GROUPS[group]())


def test_a_difference_names_its_item() -> None:
    expected = {"a": 1.0, "b": "sha256:0", "c": 3, "gone": None}
    got = {"a": 1.0 + 1e-12, "b": "sha256:1", "c": 3, "new": True}
    assert golden_files.differences(expected, got) == [
        "missing: gone",
        "new: new",
        "b: expected 'sha256:0', got 'sha256:1'",
    ]

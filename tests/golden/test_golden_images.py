"""Numbers that depend on images, processor or renderer: the same as before."""

from __future__ import annotations

import golden_files
import pytest
from golden_values import GROUPS


@pytest.mark.parametrize("group", ["distortions", "trial", "database", "panel", "metrics"])
def test_values_are_those_of_the_file(group: str) -> None:
    golden_files.require_same_machine()
    golden_files.assert_same(group, GROUPS[group]())

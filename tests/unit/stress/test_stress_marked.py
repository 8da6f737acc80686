"""A test for `make stress` only: the tests of that command find it, and nothing else runs it."""

from __future__ import annotations

import pytest


@pytest.mark.stress
def test_repeated_only(request: pytest.FixtureRequest) -> None:
    assert request.config.getoption("stress")

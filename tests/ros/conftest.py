"""What the tests of this folder share: one complete session of a trial, because it takes long."""

from __future__ import annotations

import pytest

from embodied_iqa.live.ros.domain import own_domain
from live_trial import Session, complete_session


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A complete session by the command line, read by several files; one worker takes them all."""
    with own_domain() as domain:
        return complete_session(domain, tmp_path_factory.mktemp("session"))

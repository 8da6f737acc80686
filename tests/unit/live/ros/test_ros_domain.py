"""Sessions on one machine reserve different ROS domains."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.live.ros.domain import own_domain, session_on
from live_process import COMPLETION_S

HOLDS_ONE_AND_DIES = """
import os, sys
from pathlib import Path
from embodied_iqa.live.ros.domain import own_domain
manager = own_domain(Path(sys.argv[1]))
print(manager.__enter__(), flush=True)
os._exit(9)
"""


def test_reservations_differ_until_none_is_left(tmp_path: Path):
    with ExitStack() as stack:
        held = [stack.enter_context(own_domain(tmp_path)) for _ in range(101)]
        assert sorted(held) == list(range(1, 102))
        with pytest.raises(InputError, match="all ROS domains"), own_domain(tmp_path):
            pass
    with own_domain(tmp_path) as domain:
        assert domain in held


def test_a_dead_process_has_no_reservation(tmp_path: Path):
    command = [sys.executable, "-c", HOLDS_ONE_AND_DIES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPLETION_S, check=False)
    assert done.returncode == 9, done.stderr
    with ExitStack() as stack:
        assert int(done.stdout) in [stack.enter_context(own_domain(tmp_path)) for _ in range(101)]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match="cannot reserve a ROS domain"),
        own_domain(tmp_path / "file" / "domains"),
    ):
        pass


def test_one_session_at_a_time_on_a_chosen_domain(tmp_path: Path):
    refused = pytest.raises(InputError, match=r"ROS domain 42; expected another ROS_DOMAIN_ID")
    with session_on("42", tmp_path), session_on("43", tmp_path), refused:
        session_on("42", tmp_path).__enter__()
    with session_on("42", tmp_path):
        pass


def test_a_domain_that_a_session_was_told_to_use_is_not_handed_out(tmp_path: Path):
    with session_on("42", tmp_path), ExitStack() as stack:
        held = {stack.enter_context(own_domain(tmp_path)) for _ in range(100)}
        assert held == set(range(1, 102)) - {42}
        with pytest.raises(InputError, match="all ROS domains"), own_domain(tmp_path):
            pass

"""Programs that run until they are ended print one line of JSON when they listen."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from live_process import COMPLETION_S, running_program
from ur_emulator import HOSTS


@pytest.mark.parametrize(
    "words",
    [("emulator", "--plant", "kinematic", "--host", "HOST"), ("studio", "--port", "0", ".")],
    ids=lambda words: words[0],
)
def test_the_line_names_address_and_ports(words: tuple[str, ...], tmp_path: Path) -> None:
    host = next(HOSTS)
    command = [word.replace("HOST", host) for word in words]
    program = [sys.executable, "-m", "embodied_iqa.cli.main", *command, "--json"]
    with running_program(program, tmp_path / "logs") as running:
        running.wait_until(lambda: "\n" in running.stdout, "it listens", COMPLETION_S)
        about: dict[str, Any] = json.loads(running.stdout)
        if words[0] == "studio":
            assert about == {"address": f"http://127.0.0.1:{about['port']}/", "port": about["port"]}
            ports = [about["port"]]
        else:
            assert (about["address"], about["model"], about["rate_hz"]) == (host, "UR5", 125)
            ports = [port for own in about["ports"].values() for port in own]
        for port in ports:
            socket.create_connection((host if words[0] == "emulator" else "127.0.0.1", port), 60.0).close()

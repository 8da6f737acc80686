"""The number of the model that a controller's dashboard states.

The pose that a controller reports is compared in one posture only, and two models can be alike there: with a
folded elbow, the flange of a UR3 is within millimetres of where a UR5 has it. So the dashboard is asked too.
"""

from __future__ import annotations

import re
import socket
from typing import Final

from embodied_iqa.arm.robot.ur.connecting import await_readable, connected
from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel

_PORT: Final = 29999
_QUESTION: Final = "get robot model"
_MODEL: Final = re.compile(r"UR(\d+)e?")
_LONGEST: Final = 4096


def read_model_number(ip: str, deadline_s: float, clock: Clock = MONOTONIC) -> int | None:
    """Return the number of the model, such as 5 for a UR5 and a UR5e; None where the dashboard has none.

    Older software does not know the question, and some controllers have no dashboard or keep it closed.

    Args:
        ip: Address of the controller.
        deadline_s: For everything together.
        clock: Of the deadline.
    """
    found = _MODEL.fullmatch(ask_dashboard(ip, _QUESTION, deadline_s, clock))
    return None if found is None else int(found[1])


def ask_dashboard(ip: str, question: str, deadline_s: float, clock: Clock = MONOTONIC) -> str:
    """Return the answer of a dashboard to a question that changes nothing; empty where none comes.

    Args:
        ip: Address of the controller.
        question: One line of its protocol.
        deadline_s: For everything together.
        clock: Of the deadline.
    """
    until_s = clock.now_s() + deadline_s
    try:
        with connected(ip, _PORT, deadline_s, clock) as connection:
            _read_line(connection, until_s, clock)  # the greeting
            connection.sendall(f"{question}\n".encode("ascii"))
            return _read_line(connection, until_s, clock).strip()
    except OSError:
        return ""


def check_model_number(number: int | None, model: ArmModel) -> str:
    """Check the number that `read_model_number` returned; return it as words for the log.

    Raises:
        RefusedArmError: The arm is of another model.
    """
    if number is None:
        return "its dashboard does not name its model"
    name = model.geometry.name
    if number != model.number:
        raise RefusedArmError(
            "the controller's dashboard names another model",
            Refusal.ANOTHER_ARM,
            expected=f"that of the {name} of arm_node.model",
            got=f"UR{number}",
        )
    return f"its dashboard says {stated(number)}"


def stated(number: int) -> str:
    """Return what a dashboard states, with the names of its arms, such as ``UR5 (a UR5 or UR5e)``."""
    names = [model.geometry.name for model in NAMED_MODELS if model.number == number]
    return f"UR{number} (a {' or '.join(names)})" if names else f"UR{number}"


def _read_line(connection: socket.socket, until_s: float, clock: Clock) -> str:
    """Return the next line.

    Raises:
        OSError: None comes in time.
    """
    line = b""
    while not line.endswith(b"\n"):
        await_readable(connection, until_s, clock)
        part = connection.recv(_LONGEST)
        if not part or len(line) > _LONGEST:
            raise ConnectionResetError("the dashboard says nothing of use")
        line += part
    return line.decode("utf-8", "replace")

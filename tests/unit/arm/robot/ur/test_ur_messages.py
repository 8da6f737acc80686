"""Messages between driver and worker survive packing and unpacking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.messages import Answer, Command, Reply, Request, UrFlags, UrState
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import tool_along_z

Six = tuple[float, float, float, float, float, float]

number = st.floats(allow_nan=False, allow_infinity=False)
six = st.tuples(number, number, number, number, number, number)


@given(sixes=st.tuples(six, six, six, six), stamp=number, bits=st.integers(0, 2**32 - 1))
def test_state(sixes: tuple[Six, Six, Six, Six], stamp: float, bits: int) -> None:
    state = UrState(1, 2, stamp, -1.5, *sixes, 2, bits, 7, 0.5, UrFlags.ARMED | UrFlags.HALTED, 0.25, 3)
    assert UrState.unpack(state.pack()) == state
    assert state.protective_stop == bool(bits & 0b1100010100)
    assert state.emergency_stop == bool(bits & 0b11100000)


@given(q=six, stamp=number)
def test_answer(q: Six, stamp: float) -> None:
    assert Answer.unpack(Answer(stamp, q).pack()) == Answer(stamp, q)
    assert Answer.unpack(Answer(stamp).pack()) == Answer(stamp)


@given(values=st.lists(number, max_size=8), text=st.text(max_size=200))
def test_request_and_reply(values: list[float], text: str) -> None:
    request = Request(3, Command.MOVE_JOINTS, tuple(values))
    assert Request.unpack(request.pack()) == request
    assert Reply.unpack(Reply(3, text).pack()) == Reply(3, text)


def test_driver_needs_an_address() -> None:
    with pytest.raises(UsageError, match="address is missing"):
        UrArm(UrOptions(), tool_along_z(0.2))


def test_driver_refuses_the_rate_of_an_e_series() -> None:
    with pytest.raises(
        UsageError, match=r"a UR5 takes no more joint targets a second; expected at most 125 Hz; got 500.0"
    ):
        UrArm(UrOptions(ip="127.0.0.9"), tool_along_z(0.2), rate_hz=500.0)

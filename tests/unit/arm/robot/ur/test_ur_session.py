"""What states say of a robot's program that has ended, on a client library of the test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from embodied_iqa.arm.robot.messages import RobotFault, StopCause
from embodied_iqa.arm.robot.ur import session as ur_session
from embodied_iqa.arm.robot.ur.link import UrLink
from embodied_iqa.arm.robot.ur.messages import Command, Request, UrFlags, UrState
from embodied_iqa.arm.robot.ur.options import SessionOptions
from embodied_iqa.arm.robot.ur.session import UrSession
from embodied_iqa.base.errors import InputError
from manual_clock import ManualClock

PLAYING, STOPPED = 2, 1
NORMAL, PROTECTIVE, EMERGENCY = 1, 1 << 2, 1 << 6
SIX = (0.0,) * 6


class Library:
    """The client library of a robot whose packages the test sends.

    Attributes:
        targets: Joint targets that the robot was sent.
        target: The one in the registers, which a program that starts follows; empty for none.
        refuses: Whether it takes no more of them, because the program has ended.
        tool: The active tool centre point.
    """

    def __init__(self) -> None:
        self.stamp_s, self.runtime, self.safety = 1.0, STOPPED, NORMAL
        self.targets: list[list[float]] = []
        self.target: list[float] = []
        self.refuses = False
        self.tool: tuple[float, ...] = SIX

    def send(self, runtime: int, safety: int = NORMAL) -> None:
        """Send a package."""
        self.stamp_s, self.runtime, self.safety = self.stamp_s + 0.008, runtime, safety

    def servoJ(self, q_rad: list[float], *_: float) -> bool:
        self.targets.append(q_rad)
        self.target = q_rad
        return not self.refuses

    def setTcp(self, tool: list[float]) -> bool:
        self.tool = tuple(tool)
        return True

    def kickWatchdog(self) -> bool:
        self.target = []
        return self.runtime == PLAYING

    def reuploadScript(self) -> None:
        self.targets += [self.target] if self.target else []
        self.send(PLAYING)

    def __getattr__(self, name: str) -> Any:
        values = {
            "getTimestamp": self.stamp_s,
            "getRuntimeState": self.runtime,
            "getSafetyStatusBits": self.safety,
            "getRobotMode": 7,
            "getTargetSpeedFraction": 1.0,
            "isEmergencyStopped": self.safety == EMERGENCY,
            "isProtectiveStopped": self.safety == PROTECTIVE,
            "isProgramRunning": self.runtime == PLAYING,
            "getTCPOffset": self.tool,
        }
        return lambda *_: values.get(name, SIX if name.startswith("getA") or name == "getTargetQ" else True)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()

    def interface(*_: object) -> Library:
        return made

    interface.FLAG_NO_WAIT = 0  # type: ignore[attr-defined]
    names = ("RTDEControlInterface", "RTDEIOInterface", "RTDEReceiveInterface")
    monkeypatch.setattr(ur_session, "load", lambda _name: SimpleNamespace(**dict.fromkeys(names, interface)))
    return made


@pytest.fixture
def session(library: Library) -> UrSession:
    made = UrSession(SessionOptions(), ManualClock(pauses_pass=True))
    made.execute(Request(1, Command.REARM, (0,)))
    assert made.state().flags is UrFlags.ARMED
    return made


def _fault(state: UrState) -> RobotFault | None:
    return UrLink(SessionOptions(), clock=ManualClock()).fault_of(state)


@pytest.mark.parametrize(
    ("safety", "cause"),
    [
        (PROTECTIVE, StopCause.PROTECTIVE),
        (EMERGENCY, StopCause.EMERGENCY),
        (NORMAL, StopCause.PROGRAM_ENDED),
    ],
)
def test_the_cause_may_come_one_package_after_the_end_of_the_program(
    library: Library, session: UrSession, safety: int, cause: StopCause
) -> None:
    """No target is sent from the first of them on."""
    library.send(STOPPED)
    first = session.state()
    assert _fault(first) is None
    assert UrFlags.ARMED not in first.flags
    session.servo(list(SIX))
    assert library.targets == []
    assert _fault(session.state()) is None, "the same package, read again"
    library.send(STOPPED, safety)
    fault = _fault(session.state())
    assert fault is not None
    assert fault.cause is cause


@pytest.mark.parametrize(
    ("safety", "cause"), [(PROTECTIVE, StopCause.PROTECTIVE), (EMERGENCY, StopCause.EMERGENCY)]
)
def test_a_cause_in_the_same_package_is_told_at_once(
    library: Library, session: UrSession, safety: int, cause: StopCause
) -> None:
    library.send(STOPPED, safety)
    fault = _fault(session.state())
    assert fault is not None
    assert fault.cause is cause


@pytest.mark.parametrize(
    ("safety", "cause"),
    [
        (PROTECTIVE, StopCause.PROTECTIVE),
        (EMERGENCY, StopCause.EMERGENCY),
        (NORMAL, StopCause.PROGRAM_ENDED),
    ],
)
def test_a_target_that_is_refused_first_leaves_the_cause_as_much_time(
    library: Library, session: UrSession, safety: int, cause: StopCause
) -> None:
    """It counts from the first state that shows the end, not from the one in which the library noticed it."""
    library.refuses = True
    session.servo(list(SIX))
    assert session.state().flags is UrFlags(0), "the newest state is older than the end"
    library.send(STOPPED)
    assert session.state().flags is UrFlags(0), "the first that shows it, still without its cause"
    assert session.state().flags is UrFlags(0), "the same package, read again"
    library.send(STOPPED, safety)
    fault = _fault(session.state())
    assert fault is not None
    assert fault.cause is cause
    session.servo(list(SIX))
    assert len(library.targets) == 1


def test_an_end_that_no_state_shows_is_told_nevertheless(library: Library, session: UrSession) -> None:
    library.refuses = True
    session.servo(list(SIX))
    for _ in range(2):
        library.send(PLAYING)
        assert session.state().flags is UrFlags(0)
    library.send(PLAYING)
    fault = _fault(session.state())
    assert fault is not None
    assert fault.cause is StopCause.PROGRAM_ENDED


def test_arming_while_a_state_is_read_is_not_undone_by_it(
    library: Library, session: UrSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States are read in another thread than the one that arms."""
    session.stop()
    library.send(STOPPED)

    def bits() -> int:  # read after the state of the program
        session.armed = True
        return NORMAL

    monkeypatch.setattr(library, "getSafetyStatusBits", bits, raising=False)
    session.state()
    assert session.armed


def test_a_program_that_starts_again_does_not_follow_the_last_target(
    library: Library, session: UrSession
) -> None:
    session.servo([1.0] * 6)
    library.send(STOPPED)
    assert session.state().flags is UrFlags(0)
    session.execute(Request(2, Command.REARM, (0,)))
    assert session.armed
    assert library.targets == [[1.0] * 6]


TOOL = (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("active", [SIX, TOOL, (0.0, 0.0, 0.35, 0.0, 0.0, 0.0)])
def test_arming_overwrites_no_tool_that_was_set_since_the_arm_was_connected(
    library: Library, active: tuple[float, ...]
) -> None:
    made = UrSession(SessionOptions(tool_pose=TOOL), ManualClock(pauses_pass=True))
    library.tool = active
    if active in {SIX, TOOL}:
        made.execute(Request(1, Command.REARM, (0,)))
        assert (made.armed, library.tool) == (True, TOOL)
        return
    with pytest.raises(
        RuntimeError, match=r"^the controller's tool centre point is \(0\.000, 0\.000, 0\.350\)"
    ):
        made.execute(Request(1, Command.REARM, (0,)))
    assert (made.armed, library.tool) == (False, active)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (
            "One of the RTDE input registers are already in use! Currently you must disable PROFINET",
            "another program or trial commands this arm: One of the RTDE input registers",
        ),
        ("Failed to start", "Failed to start"),
    ],
)
def test_a_controller_whose_inputs_are_in_use_is_commanded_by_another(
    monkeypatch: pytest.MonkeyPatch, library: Library, words: str, first: str
) -> None:
    def refused(*_: object) -> Library:
        raise RuntimeError(words)

    refused.FLAG_NO_WAIT = 0  # type: ignore[attr-defined]
    names = ("RTDEControlInterface", "RTDEIOInterface", "RTDEReceiveInterface")
    made = SimpleNamespace(**dict.fromkeys(names, lambda *_: library))
    made.RTDEControlInterface = refused
    monkeypatch.setattr(ur_session, "load", lambda _name: made)
    with pytest.raises((InputError, RuntimeError), match=f"^{first}"):
        UrSession(SessionOptions())

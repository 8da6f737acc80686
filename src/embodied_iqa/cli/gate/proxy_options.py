"""Options of `embodied-iqa gate proxy`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, Final

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.gate_options import add_calibration, add_judge
from embodied_iqa.cli.parser import note_former
from embodied_iqa.cli.plan_options import add_plan_options, number_of, within
from embodied_iqa.models.subjects.serving.listener import ServingOptions
from embodied_iqa.quality.gate.proxy.hold_answers import HoldOptions

_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})")


class _Listen(argparse.Action):
    """The former name of `--host` and `--port`."""

    def __call__(
        self, _parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Set both."""
        found = _ADDRESS.fullmatch(values)
        if found is None:
            raise UsageError(f"wrong {option}", expected="HOST:PORT", got=values)
        note_former("--listen HOST:PORT", "--host HOST --port PORT")
        namespace.host, namespace.port = found["six"] or found["host"], int(found["port"])


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    policy = "policy server, such as openpi://gpu:8000 or openvla+http://gpu:8000/act"
    add("--policy", required=True, metavar="ADDRESS", help=policy)
    add_plan_options(parser, ServingOptions, "host", host="HOST")
    port = "TCP port, 0 for any free one (default 8001)"
    add("--port", type=number_of(ServingOptions, "port"), default=8001, metavar="N", help=port)
    add("--listen", action=_Listen, metavar="HOST:PORT", help=argparse.SUPPRESS)
    add_calibration(add, ", from images as the clients send them", required=True)
    camera = "image of an observation and its camera in FILE; :rot180 if it is sent upside down; repeatable"
    add("--view", action="append", default=[], metavar="KEY=VIEW[:rot180]", help=camera)
    ignore = "image that passes without a judgement; repeatable"
    add("--ignore", action="append", default=[], metavar="KEY", help=ignore)
    add_judge(add)
    recover = "good observations in a row that end a hold (default 1)"
    add("--recover", type=within(int, 1, 1000), metavar="N", help=recover)
    modes = "on (default), shadow (judges and reports, never holds) or off (passes all without judging)"
    words = [str(mode) for mode in GateMode]
    add("--mode", choices=words, default=str(GateMode.ON), metavar="MODE", help=modes)
    add("--always", action="store_true", help="ask the policy during a hold too; releases nothing more")
    _configure_hold(parser)
    add("--token-env", default="", metavar="NAME", help="environment variable with the token of the clients")
    add("--policy-token-env", default="", metavar="NAME", help="likewise, of the policy server")
    number = within(int, 1, 1024)
    add("--most-clients", type=number, default=16, metavar="N", help="most connections (default 16)")
    add("--most-mib", type=number, default=16, metavar="N", help="longest message [MiB] (default 16)")
    deadline = "longest wait for the policy's answer [s] (default 30)"
    add("--deadline", type=float, default=30.0, metavar="S", help=deadline)
    wait = "longest wait for the policy server at the start, which may be loading [s] (default 10)"
    add("--wait", type=within(float, 0.1, 86400), default=10.0, metavar="S", help=wait)
    record = "record images, verdicts and times to this MCAP file"
    add("--record", type=Path, metavar="FILE", help=record)
    waits = "most images that wait for the disk; further ones are dropped and counted [MiB] (default 256)"
    add("--record-mib", type=number, metavar="N", help=waits)
    add("--json", action="store_true", help="print address, metadata and cameras as JSON")


def _configure_hold(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_plan_options(parser, HoldOptions, "kind as on_hold")
    state = "state to repeat, as wide as an action; repeat to join several; with --on-hold repeat"
    add("--state-key", action="append", default=[], metavar="KEY", help=state)
    absolute = "column, from 0, with an absolute value, such as a gripper, and its state; with --on-hold zero"
    add("--absolute", action="append", default=[], metavar="COLUMN=KEY[:INDEX]", help=absolute)
    last = f"greatest age of the answer of --on-hold last [s] (default {HoldOptions().last_s:g})"
    add(
        "--last-s", type=number_of(HoldOptions, "last_s"), metavar="S", help=last
    )  # one that is given has to have an effect

"""`embodied-iqa gate proxy`: the gate in front of a policy server."""

from __future__ import annotations

import argparse
import json
import queue
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import INSTALL_DATA, importing
from embodied_iqa.base.memory import reuse_large_blocks
from embodied_iqa.cli.output import print_note, program
from embodied_iqa.models.subjects.serving.listener import ServingOptions
from embodied_iqa.models.subjects.wire.openvla import OPENVLA_PATH
from embodied_iqa.models.subjects.wire.policy_client import WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.tokens import token_from
from embodied_iqa.quality.gate.calibration_file import GateFile, load_gate_file
from embodied_iqa.quality.gate.image_filters import compile_for
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import (
    advice_in_words,
    fitted_to,
    make_judge,
    unfitted,
    unfitted_in_words,
)
from embodied_iqa.quality.gate.proxy.changes import ChangeLog
from embodied_iqa.quality.gate.proxy.gated_policy import (
    Answered,
    ProxyOptions,
    Witness,
    observation_rules,
)
from embodied_iqa.quality.gate.proxy.hold_answers import HoldKind, HoldOptions
from embodied_iqa.quality.gate.proxy.live_view import GateLive
from embodied_iqa.quality.gate.proxy.observed_images import ProxyCamera
from embodied_iqa.quality.gate.proxy.openvla_proxy import OpenVlaPlace, OpenVlaProxy
from embodied_iqa.quality.gate.proxy.proxy_server import (
    GateProxy,
    GateSetting,
    PolicyPlace,
    stranger_in_words,
)

_JUDGING_S: Final = 10.0
"""Longest time from an observation to its answer, besides that of the policy."""
_OPENPI: Final = ("openpi", "openpi+wss")
_OPENVLA: Final = ("openvla+http", "openvla+https")
_FORMS: Final = "openpi://HOST:PORT, openpi+wss://HOST:PORT or openvla+http://HOST:PORT/act"
_RECORD_MIB: Final = 256
_MOST_LINES: Final = 100
"""That wait for a terminal."""
_FAREWELL_S: Final = 1.0
"""For a terminal to take its last lines."""


def proxy(arguments: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code."""
    reuse_large_blocks()
    serving = _serving(arguments)
    place = _place(arguments)
    file = load_gate_file(arguments.calibration)
    setting = _setting(arguments, file)
    _print_notes(setting, file)
    cameras = {camera.key: _camera_words(camera, file) for camera in setting.options.cameras}

    def ready(port: int) -> None:
        address = _address(place, Address(serving.host, port))
        if arguments.json:
            gate = {"gate": setting.metadata}
            print(json.dumps({"address": address, "port": port, **gate, "cameras": cameras}), flush=True)
            return
        named = f" ({metadata['name']})" if isinstance(metadata.get("name"), str) else ""
        print(f"the gate is in front of {arguments.policy}{named} at {address} (Ctrl+C ends)")
        print("\n".join(f"{key}: {words}" for key, words in cameras.items()), flush=True)

    with _recorded(arguments, setting) as watched:  # before the wait: a file that exists ends it
        compile_for(one.width_px * one.height_px for one in file.cameras)
        if not arguments.json:
            print(f"waiting for {arguments.policy}", file=sys.stderr, flush=True)
        place, metadata = place.reached(arguments.wait)
        print_note(stranger_in_words(setting.fitted_to, arguments.policy, metadata))
        with _reported(watched) as reported:
            if isinstance(place, PolicyPlace):
                GateProxy(reported, place, serving).run(ready)
            else:
                OpenVlaProxy(reported, place, serving).run(ready)
    return 0


def _print_notes(setting: GateSetting, file: GateFile) -> None:
    """Print what is worth knowing before the gate is trusted."""
    kind, hold = setting.rules.kind, setting.options.hold
    print_note(unfitted_in_words(kind, setting.unfitted))
    print_note(advice_in_words(kind, file, {camera.view for camera in setting.options.cameras}))
    if hold.kind is HoldKind.ZERO and not hold.absolute:
        print_note(
            "on a hold all columns are 0, also a gripper's, which may open or close it: "
            "--absolute COLUMN=KEY keeps its state"
        )


class _Terminal:
    """Writes lines to stderr in a thread of its own: a terminal that is stopped (Ctrl+S) stops no client."""

    def __init__(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(_MOST_LINES)
        self._thread = threading.Thread(target=self._work, name="terminal", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Write a line soon, unless too many wait."""
        with suppress(queue.Full):
            self._lines.put_nowait(line)

    def close(self) -> None:
        """Write what waits, if the terminal takes it."""
        with suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(_FAREWELL_S)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError, ValueError):  # nobody reads it
                print(line, file=sys.stderr, flush=True)


def _both(first: Witness, second: Witness) -> Witness:
    """Return a witness that shows an observation to two others."""

    def watch(answered: Answered) -> None:
        first(answered)
        second(answered)

    return watch


@contextmanager
def _reported(setting: GateSetting) -> Iterator[GateSetting]:
    """Give the setting whose changes are said on stderr in the block, and the counts after it."""
    terminal = _Terminal()
    log = ChangeLog(terminal.say)
    try:
        yield replace(setting, witness=_both(setting.witness, log.look), attend=log.attend)
    finally:
        terminal.say(log.summary())
        terminal.close()


@contextmanager
def _recorded(arguments: argparse.Namespace, setting: GateSetting) -> Iterator[GateSetting]:
    """Give the setting whose observations are shown, and in the block recorded, if that is wanted."""
    live = GateLive()
    if arguments.record is None:
        yield replace(setting, witness=live.look, live=live.snapshot)
        return
    with importing("the recorder", "pip install 'embodied_iqa[gate,record]'"):
        from embodied_iqa.quality.gate.proxy.recording import ProxyRecorder

    recorder = ProxyRecorder(arguments.record, setting.options, (arguments.record_mib or _RECORD_MIB) << 20)
    try:
        yield replace(setting, witness=_both(live.look, recorder.record), live=live.snapshot)
    finally:
        status = recorder.close()
        lost = f", {status.total_lost} lost: {status.error or 'the disk was too slow'}"
        found = f"{recorder.path}: {status.written} messages{lost if status.total_lost else ''}"
        if status.accepted:
            check = shlex.join(
                ["gate", "check", str(recorder.path), "--calibration", str(arguments.calibration)]
            )
            print(f"{found}\nnext: {program()} {check}", file=sys.stderr)
            print_note(f"it needs {INSTALL_DATA}" if find_spec("cv2") is None else "")
        else:
            recorder.path.unlink(missing_ok=True)
            print(f"{recorder.path}: not kept: nothing was judged", file=sys.stderr)


def _address(place: PolicyPlace | OpenVlaPlace, at: Address) -> str:
    """Return the address for the clients."""
    return f"openpi://{at}" if isinstance(place, PolicyPlace) else f"http://{at}{place.path}"


def _serving(arguments: argparse.Namespace) -> ServingOptions:
    return ServingOptions(
        host=arguments.host,
        port=arguments.port,
        token=token_from(arguments.token_env),
        most_waiting=1,
        most_connections=arguments.most_clients,
        most_per_address=arguments.most_clients,
        most_bytes=arguments.most_mib << 20,
        deadline_s=arguments.deadline + _JUDGING_S,
    )


def _place(arguments: argparse.Namespace) -> PolicyPlace | OpenVlaPlace:
    text = arguments.policy
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.scheme in {*_OPENPI, *_OPENVLA} and parts.port != 0
    except ValueError:
        usable = False
    if "@" in text:  # not repeated: it may hold a password
        raise UsageError("--policy holds no user and no password", expected="--policy-token-env NAME")
    if not usable or parts.query or (parts.scheme in _OPENPI and parts.path.strip("/")):
        raise UsageError("wrong --policy", expected=_FORMS, got=text)
    if not 0.0 < arguments.deadline <= 3600.0:
        raise UsageError("wrong --deadline", expected="above 0, up to 3600 s", got=arguments.deadline)
    limits = WireLimits(
        answer_s=arguments.deadline, most_bytes=arguments.most_mib << 20, asks_once=arguments.always
    )
    token = token_from(arguments.policy_token_env)
    if parts.scheme in _OPENPI:
        return PolicyPlace(Address.of(text)[0], limits, token)
    address, path = Address.of(text.removeprefix("openvla+"))
    return OpenVlaPlace(address, path.rstrip("/") or OPENVLA_PATH, limits, token)


def _setting(arguments: argparse.Namespace, file: GateFile) -> GateSetting:
    absolute = tuple(_absolute(text) for text in arguments.absolute)
    columns = [column for column, _ in absolute]
    if twice := sorted({column for column in columns if columns.count(column) > 1}):
        raise UsageError("--absolute names a column twice", got=twice[0])
    last = {} if arguments.last_s is None else {"last_s": arguments.last_s}
    given = {"kind": arguments.kind, "state": tuple(arguments.state_key), "absolute": absolute}
    hold = HoldOptions(**given, **last)
    _refuse_idle(arguments, hold)
    cameras = tuple(ProxyCamera.parse(text) for text in arguments.view)
    views = list(dict.fromkeys(str(camera.view) for camera in file.cameras))
    for camera in cameras:
        if camera.view not in views:
            raise UsageError(f"{file.path} has no such camera", got=str(camera.view), available=views)
    options = ProxyOptions(cameras, frozenset(arguments.ignore), hold, arguments.always)
    mode, judge = GateMode(arguments.mode), parse_judge(arguments.judge)
    rules = observation_rules(mode, judge, arguments.recover or 1)
    seen = {camera.view for camera in cameras}
    unlike, policies = unfitted(rules.kind, file, seen), fitted_to(rules.kind, file, seen)
    return GateSetting(make_judge(rules.kind, file), rules, options, unfitted=unlike, fitted_to=policies)


def _refuse_idle(arguments: argparse.Namespace, hold: HoldOptions) -> None:
    """Refuse options that have no effect beside the others.

    Raises:
        UsageError: One is given.
    """
    if arguments.last_s is not None and hold.kind is not HoldKind.LAST:
        raise UsageError("--last-s is for --on-hold last", got=str(hold.kind))
    if arguments.record_mib is not None and arguments.record is None:
        raise UsageError("--record-mib is for --record FILE")
    if arguments.record is not None and arguments.record.suffix != ".mcap":
        raise UsageError("wrong --record", expected="a file that ends in .mcap", got=arguments.record)
    given = {
        "--recover": arguments.recover is not None,
        "--always": arguments.always,
        f"--on-hold {hold.kind}": hold.kind is not HoldKind.ERROR,
    }
    idle = next((option for option, is_given in given.items() if is_given), None)
    if arguments.mode != GateMode.ON and idle:
        raise UsageError(f"--mode {arguments.mode} holds nothing: {idle} has no effect with it")
    if arguments.mode == GateMode.OFF and arguments.record is not None:
        raise UsageError("--mode off judges nothing to record", expected="--mode shadow or on with --record")


def _absolute(text: str) -> tuple[int, str]:
    column, _, key = text.partition("=")
    if not (column.isascii() and column.isdecimal() and key):
        expected = "COLUMN=KEY, such as 7=gripper, or COLUMN=KEY:INDEX"
        raise UsageError("wrong --absolute", expected=expected, got=text)
    return int(column), key


def _camera_words(camera: ProxyCamera, file: GateFile) -> str:
    sizes = [f"{one.width_px}x{one.height_px}" for one in file.cameras if one.view == camera.view]
    turned = ", rotated by 180 degrees" if camera.turned else ""
    return f"camera {camera.view}, {' or '.join(sizes)}{turned}"

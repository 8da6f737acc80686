"""RTDE protocol: set-up, packages, inputs owned by one client, invalid data."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import struct
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.emulator import Emulator, check_host
from embodied_iqa.arm.emulator.faults import FaultSwitches
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.link import Link
from embodied_iqa.arm.emulator.plant import KinematicPlant, Plant
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.world import World

_HOSTS = (f"127.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}.{n}" for n in itertools.count(2))

_PASSES = 100
"""Of the event loop; a question and its answer need fewer than ten."""


class Client:
    """A bare RTDE client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, emulator: Emulator) -> Client:
        return cls(*await asyncio.open_connection(emulator.host, 30004))

    async def receive(self) -> tuple[str, bytes]:
        size, kind = struct.unpack(">HB", await self.reader.readexactly(3))
        return chr(kind), await self.reader.readexactly(size - 3)

    def send(self, kind: str, payload: bytes = b"") -> None:
        self.writer.write(struct.pack(">HB", len(payload) + 3, ord(kind)) + payload)

    async def ask(self, kind: str, payload: bytes = b"") -> bytes:
        self.send(kind, payload)
        answered, reply = await self.receive()
        assert answered == kind
        return reply

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def _passes() -> None:
    """Let both sides, which are in this loop, do all that they have to do."""
    for _ in range(_PASSES):
        await asyncio.sleep(0)


def _run(work: Callable[[Emulator], Awaitable[None]], series: Series = Series.E) -> None:
    async def main() -> None:
        emulator = Emulator(Controller(FIRMWARE[series], KinematicPlant()), next(_HOSTS))
        await emulator.start()
        try:
            await asyncio.wait_for(work(emulator), 20.0)
        finally:
            await emulator.stop()

    asyncio.run(main())


def test_versions_are_reported() -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        assert await client.ask("V", struct.pack(">H", 2)) == b"\x01"
        assert await client.ask("V", struct.pack(">H", 1)) == b"\x00"
        assert struct.unpack(">4I", await client.ask("v"))[:2] == (5, 15)
        await client.close()

    _run(work)


def test_packages_carry_what_was_asked_for_at_the_rate_asked_for() -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        names = b"timestamp,actual_q,runtime_state"
        kinds = await client.ask("O", struct.pack(">d", 125.0) + names)
        assert kinds == b"\x01DOUBLE,VECTOR6D,UINT32"
        assert await client.ask("S") == b"\x01"
        for _ in range(12):
            emulator.step()
        stamps = []
        for _ in range(3):
            kind, payload = await client.receive()
            assert (kind, payload[0]) == ("U", 1)
            stamp, *q, runtime = struct.unpack(">7dI", payload[1:])
            stamps.append(stamp)
            assert q == pytest.approx(emulator.controller.plant.q_rad)
            assert runtime == 1
        assert np.diff(stamps) == pytest.approx([0.008, 0.008])
        assert await client.ask("P") == b"\x01"
        await client.close()

    _run(work)


def test_unknown_variables_are_not_found() -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        assert await client.ask("O", struct.pack(">d", 125.0) + b"timestamp,xyz") == b"\x01DOUBLE,NOT_FOUND"
        assert await client.ask("S") == b"\x00"
        assert await client.ask("I", b"input_int_register_0,xyz") == b"\x00INT32,NOT_FOUND"
        await client.close()

    _run(work)


def test_an_input_belongs_to_one_client_until_it_leaves() -> None:
    async def work(emulator: Emulator) -> None:
        first, second = await Client.connect(emulator), await Client.connect(emulator)
        assert await first.ask("I", b"input_int_register_0,input_double_register_0") == b"\x01INT32,DOUBLE"
        assert await second.ask("I", b"input_int_register_0") == b"\x00IN_USE"
        assert await second.ask("I", b"input_int_register_23") == b"\x01INT32"
        first.send("U", b"\x01" + struct.pack(">id", -7, 0.5))
        await first.close()
        await _passes()
        assert emulator.controller.inputs["input_int_register_0"] == -7
        assert emulator.controller.inputs["input_double_register_0"] == 0.5
        assert await second.ask("I", b"input_int_register_0") == b"\x02INT32"
        await second.close()

    _run(work)


def test_outputs_change_only_within_the_mask() -> None:
    controller = Controller(FIRMWARE[Series.CB3], KinematicPlant())
    controller.write({"standard_digital_output_mask": 0b1010, "standard_digital_output": 0b1111})
    controller.write({"configurable_digital_output_mask": 1, "configurable_digital_output": 1})
    controller.write({"tool_digital_output_mask": 2, "tool_digital_output": 2})
    assert controller.digital_outputs == 0b1010 | 1 << 8 | 2 << 16
    controller.write({"standard_digital_output_mask": 0b0010, "standard_digital_output": 0})
    assert controller.digital_outputs == 0b1000 | 1 << 8 | 2 << 16


def test_invalid_data_end_that_connection_only() -> None:
    async def work(emulator: Emulator) -> None:
        rng = np.random.default_rng(3)
        good = await Client.connect(emulator)
        for kind, payload in [("U", b"\x09abc"), ("U", b""), ("O", b"\x00"), ("O", b"\xff" * 20), ("?", b"")]:
            bad = await Client.connect(emulator)
            bad.send(kind, payload)
            assert await bad.reader.read() == b""
            bad.writer.close()
        for _ in range(30):
            bad = await Client.connect(emulator)
            bad.writer.write(rng.bytes(rng.integers(1, 400)))
            bad.writer.write_eof()
            await bad.reader.read()
            bad.writer.close()
        emulator.step()
        assert await good.ask("V", struct.pack(">H", 2)) == b"\x01"
        await good.close()

    _run(work)


def test_client_that_does_not_read_does_not_fill_the_memory() -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        wide = ",".join(["actual_q,target_q,actual_TCP_pose,target_qd"] * 40)
        await client.ask("O", struct.pack(">d", 500.0) + wide.encode())
        await client.ask("S")
        (peer,) = emulator._hub._clients
        for _ in range(3):
            for _ in range(1_000):
                emulator._hub.publish(0)
            await asyncio.sleep(0)
        assert peer.transport.get_write_buffer_size() < 2_000_000
        client.writer.transport.abort()

    _run(work)


async def _comes(client: Client) -> bool:
    """Whether something arrives while time stands still."""
    await _passes()
    return bool(client.reader._buffer)


def test_cut_link_passes_nothing_until_it_is_restored() -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        await client.ask("v")
        assert emulator.faults.answer("cut") == b"ok\n"
        client.send("v")
        assert not await _comes(client)
        emulator.faults.answer("mend")
        assert (await client.receive())[0] == "v"
        await client.close()

    _run(work)


@pytest.mark.parametrize("plant", [KinematicPlant, lambda: World(make_scene(0))])
def test_restored_emulator_is_where_it_was_at_the_start(plant: Callable[[], Plant]) -> None:
    controller = Controller(FIRMWARE[Series.E], plant())
    faults, start = FaultSwitches(controller, Link(), controller.step), controller.plant.q_rad
    for name in ("hold", "step 1"):
        assert faults.answer(name) == b"ok\n"
    controller.machine.reference.follow(start - 0.05)
    controller.plant.set_gripper_target(1.0, 100.0)
    faults.answer("step 50")
    assert np.abs(controller.plant.q_rad - start).max() > 0.01
    assert controller.plant.gripper > 0.1
    assert faults.answer("restore") == b"ok\n"
    controller.step()
    state = faults.state()
    assert state["q_rad"] == pytest.approx(start, abs=1e-3)
    assert (state["gripper"], state["held"]) == (pytest.approx(0.0, abs=0.01), False)


def test_slow_link_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        loop = asyncio.get_running_loop()
        now_s = [loop.time()]
        monkeypatch.setattr(loop, "time", lambda: now_s[0])
        emulator.faults.answer("delay 100")
        client.send("v")
        assert not await _comes(client)
        emulator.faults.answer("delay 0")
        client.send("V", struct.pack(">H", 2))
        now_s[0] += 0.099
        assert not await _comes(client)
        now_s[0] += 0.002
        assert [(await client.receive())[0] for _ in range(2)] == ["v", "V"]
        await client.close()

    _run(work)


def test_wrong_switches_are_reported() -> None:
    async def work(emulator: Emulator) -> None:
        for line in ("explode", "delay -1", "delay x", "refuse-script maybe", "object x", "gripper-fault x"):
            assert emulator.faults.answer(line).startswith(b"error: "), line

    _run(work)


def test_only_loopback_addresses_are_served() -> None:
    assert check_host("localhost") == "127.0.0.1"
    assert check_host("127.0.0.3") == "127.0.0.3"
    for host in ("0.0.0.0", "192.168.1.10", "::1", "robot", ""):
        with pytest.raises(UsageError, match="loopback only"):
            check_host(host)


def test_second_emulator_on_the_same_address_is_reported() -> None:
    async def work(emulator: Emulator) -> None:
        second = Emulator(Controller(FIRMWARE[Series.E], KinematicPlant()), emulator.host)
        with pytest.raises(InputError, match="another emulator"):
            await second.start()

    _run(work)


@pytest.mark.parametrize(
    "line",
    [
        "object nan",
        "object 1.5",
        "object -0.1",
        "gripper-fault 16",
        "gripper-fault -1",
        "gripper-fault nan",
        "delay nan",
        "slider 1.1",
        "slider -0.1",
        "payload 17",
        "payload nan",
        "tcp 0 0 0.2",
        "tcp 0 0 20 0 0 0",
        "tcp 0 0 0.2 0 0 7",
    ],
)
def test_a_switch_refuses_numbers_out_of_its_range(line: str) -> None:
    async def work(emulator: Emulator) -> None:
        before = emulator.faults.state()
        assert emulator.faults.answer(line).startswith(b"error: expected ")
        assert emulator.faults.state() == before

    _run(work)


def test_writes_to_a_broken_connection_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work(emulator: Emulator) -> None:
        client = await Client.connect(emulator)
        await client.ask("O", struct.pack(">d", 500.0) + b"timestamp")
        assert await client.ask("S") == b"\x01"
        client.writer.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        client.writer.transport.abort()  # sends a reset
        await asyncio.sleep(0)
        for _tick in range(200):  # the loop of the emulator does not run in between
            emulator.step()
        await asyncio.sleep(0)

    _run(work)
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []

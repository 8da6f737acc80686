"""Parsers of outside data for `fuzz_parsers.py`, each with valid inputs to damage."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import struct
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.emulator import Dashboard
from embodied_iqa.arm.emulator.faults import FaultSwitches
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.gripper import GripperServer
from embodied_iqa.arm.emulator.link import Link, Peer
from embodied_iqa.arm.emulator.plant import KinematicPlant
from embodied_iqa.arm.emulator.rtde_server import RtdeHub
from embodied_iqa.arm.robot.ur.robotiq_connection import RobotiqConnection
from embodied_iqa.base.records import unstructure
from embodied_iqa.base.resources import shared_file, source_checkout
from embodied_iqa.base.scheduling import kept_scheduling
from embodied_iqa.base.tables import read_table
from embodied_iqa.base.user_files.yaml_files import load_yaml
from embodied_iqa.data.frames.video_frames import VideoFrames
from embodied_iqa.data.lerobot.episodes import Episode
from embodied_iqa.data.lerobot.info import INFO_FILE, DatasetInfo, read_info
from embodied_iqa.data.lerobot.steps import DataFile
from embodied_iqa.data.lerobot.video import Video
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.image_cdr import (
    COMPRESSED_TYPE,
    compressed_from_cdr,
    depth_from_cdr,
    image_from_cdr,
    image_to_cdr,
)
from embodied_iqa.models.subjects.model_card import load_card
from embodied_iqa.models.subjects.safetensors_header import read_size
from embodied_iqa.models.subjects.wire import json_arrays, msgpack_arrays
from embodied_iqa.models.subjects.wire.deadline import Deadline
from embodied_iqa.models.subjects.wire.http import HttpServer
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.websocket import Websocket
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes, read_episodes, write_episodes
from embodied_iqa.suites.cell_manipulation.planning.planner_answers import parse_answer
from embodied_iqa.suites.cell_manipulation.planning.trajectories import read_trajectories
from embodied_iqa.suites.static_benchmark.circular import circular_items
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.static_to_simulated import executions_of_csv
from embodied_iqa.suites.static_benchmark.tsv import read_tsv, write_tsv
from embodied_iqa.suites.static_benchmark.tsv_images import encode_image
from embodied_iqa.suites.static_benchmark.vla.trajectories import Trajectory, read_trajectory
from embodied_iqa.world.tasks.task_files import load_task_file

MOST_BYTES = 1 << 20
REPLY_S = 0.2
PLANS = [
    b'{"executable_plan": [{"action": "[54, 60, 17, 0, 60, 30, 1]", "action_success": 1}]}',
    b"Here it is:\n```json\n{'executable_plan': '[[54, 60, 17, 0, 60, 30, 0]]',}\n```",
]


@dataclass(frozen=True, slots=True)
class Target:
    """A parser.

    Attributes:
        name: For the table.
        seeds: Returns valid inputs.
        parse: Parses an input; the folder is empty and may hold files while it runs.
        leaves: Names of files that it may leave in the folder.
        prepare: Called once in each process.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    parse: Callable[[bytes, Path], object]
    leaves: frozenset[str] = frozenset()
    prepare: Callable[[], object] = lambda: None


def from_file(
    name: str, suffix: str, seeds: Callable[[], list[bytes]], read: Callable[[Path], object], *more: str
) -> Target:
    """Return a target that reads a file."""

    def parse(content: bytes, folder: Path) -> None:
        path = folder / f"input{suffix}"
        path.write_bytes(content)
        read(path)

    return Target(name, cache(seeds), parse, frozenset({f"input{suffix}", *more}))


# --- files --------------------------------------------------------------------------------------------------


def image(seed: int, height: int = 24, width: int = 32) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def encoded(*suffixes: str) -> list[bytes]:
    return [cv2.imencode(suffix, image(seed))[1].tobytes() for suffix in suffixes for seed in range(2)]


_HEADER = b"\0\1\0\0" + struct.pack("<iII4s", 0, 5, 4, b"top")
"""Of an image message in CDR."""


def depth_messages() -> list[bytes]:
    depth = image(1)[:, :, :2].tobytes()
    return [
        _HEADER + struct.pack("<III6s2xII", 24, 32, 6, b"16UC1", 64, len(depth)) + depth,
        _HEADER + struct.pack("<III6s2xII", 24, 16, 6, b"32FC1", 64, len(depth)) + depth,
    ]


def compressed_messages() -> list[bytes]:
    return [
        _HEADER + struct.pack("<I4sI", 4, form, len(data)) + data
        for form, suffix in ((b"jpg", ".jpg"), (b"png", ".png"))
        for data in encoded(suffix)
    ]


def compressed_depth_messages() -> list[bytes]:
    steps = np.random.default_rng(1).integers(0, 1 << 16, (24, 32), dtype=np.uint16)
    data = struct.pack("<iff", 0, 200.0, -100.0) + cv2.imencode(".png", steps)[1].tobytes()
    forms = (b"16UC1; compressedDepth png", b"32FC1; compressedDepth png")
    return [_HEADER + struct.pack("<I27sxI", 27, form, len(data)) + data for form in forms]


def recordings() -> list[bytes]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (0, 3):
            path = Path(folder) / f"{count}.mcap"
            writer = TrialWriter(path)
            writer.add_metadata("embodied_iqa", {"task": "pick the red cube"})
            writer.add_channel("/camera/top/image_raw", "sensor_msgs/msg/Image")
            writer.add_channel("/camera/top/pose", "geometry_msgs/msg/PoseStamped")
            for number in range(count):
                stamp_ns = 10**9 * (1 + number)
                writer.write("/camera/top/image_raw", image_to_cdr(image(number), stamp_ns, "top"), stamp_ns)
                header = struct.pack("<4siII4s", b"\0\1\0\0", number, 0, 4, b"top\0")
                writer.write("/camera/top/pose", header + struct.pack("<7d", *range(7)), stamp_ns)
            writer.close()
            found.append(path.read_bytes())
    return found


def manipulation_episodes() -> list[bytes]:
    episodes = tuple(make_episodes([Subset.LONG_HORIZON], 1))[::16]
    with tempfile.TemporaryDirectory() as folder:
        return [write_episodes(Path(folder), episodes).read_bytes()]


def sqlite_recordings() -> list[bytes]:
    store = get_typestore(Stores.ROS2_HUMBLE)
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / "bag"
        with Writer(bag, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
            topic = writer.add_connection("/eye", "sensor_msgs/msg/Image", typestore=store)
            for number in range(4):
                writer.write(topic, number, image_to_cdr(image(number), number))
        return [next(bag.glob("*.db3")).read_bytes()]


def read_recording(path: Path) -> None:
    with TrialReader(path) as reader:
        reader.metadata()
        for message in reader.messages(list(reader.topics)):
            reader.decode(message)


def tables() -> list[bytes]:
    found = []
    for count in (0, 5):
        table = pa.table(
            {"a": list(range(count)), "b": [f"word {k}" for k in range(count)], "c": [0.5] * count}
        )
        stream = io.BytesIO()
        pq.write_table(table, stream)
        found.append(stream.getvalue())
    return found


def read_columns(path: Path) -> None:
    read_table(path, ("a", "b", "c")).to_pylist()


def item_tables() -> list[bytes]:
    cell = encode_image(image(3))
    items = [Item(number, number, "Which?", ("red", "green", 'a "quoted" one'), "B") for number in range(3)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (items, circular_items(items)):
            path = Path(folder) / "items.tsv"
            write_tsv(path, rows, {item.index: cell for item in items})
            found.append(path.read_bytes())
    return found


def trajectories() -> list[bytes]:
    steps = ((-0.4, 0.0, 0.3, 3.1, 0.0, 1.57, 0.0), (-0.4, 0.1, 0.2, 3.1, 0.0, 1.5, 1.0))
    words = ("input", "pick the red cube", "pick", "cube", "wood", 7, 4.0)
    made = Trajectory(*words, tuple(np.eye(4).ravel().tolist()), 0.0, steps, (0.0, 0.4), ())
    return [json.dumps(unstructure(made)).encode()]


EXECUTION_CSV = b'subject,task,execution\npanel-vla-query,000,1\n"a, b",001,0.25\n'


def shipped(*names: str) -> list[bytes]:
    return [shared_file(name).read_bytes() for name in names]


def task_yaml() -> list[bytes]:
    checkout = source_checkout() or Path()
    return [(checkout / "examples" / "extend" / "own_tasks.yaml").read_bytes()]


TASK_CSV = b"""# embodied-iqa-tasks 1
image,bag,stamp_ns,view,rank,text,verb,main_object,background
kitchen/0001.png,,,wrist,1,pick up the red mug,pick,kitchen item,wood
kitchen/0001.png,,,wrist,2,push the mug next to the sink,push,,
,runs/7/trial.mcap,1731000000000000000,top,1,open the drawer,pull,,
"""


def cards() -> list[bytes]:
    folder = Path(__file__).parent.parent / "src/embodied_iqa/models/subjects/backends/panel/models"
    return [path.read_bytes() for path in sorted(folder.glob("panel-vla-*.json"))[:2]]


def weights() -> list[bytes]:
    from safetensors.numpy import save  # noqa: PLC0415 - only for this target

    return [save({"a": np.zeros((2, 3), np.float32), "b": np.ones(4, np.float16)})]


# --- messages -----------------------------------------------------------------------------------------------

CONTENT = {
    "image": image(1),
    "state": np.arange(7.0),
    "prompt": "pick the red cube",
    "request": 3,
    "nested": [{"a": None, "b": True}, [1.5, b"x"]],
}


def msgpack_messages() -> list[bytes]:
    return [msgpack_arrays.pack(CONTENT), msgpack_arrays.pack({"endpoint": "infer", "n": 2**40})]


def trajectory_files() -> list[bytes]:
    head = b'{"model_name": "m", "eval_set": "base", "episode_id": 1, "success": 1, "trajectory": '
    return [b"[" + head + turns + b"}]" for turns in (b"[" + PLANS[0] + b"]", PLANS[0])]


def json_messages() -> list[bytes]:
    plain = {name: value for name, value in CONTENT.items() if name != "nested"}
    return [json_arrays.pack(plain), json_arrays.pack({"actions": np.zeros((8, 7))})]


# --- the emulated robot -------------------------------------------------------------------------------------


class Wire(asyncio.Transport):
    """Takes what the emulator sends, and closes when it aborts."""

    def __init__(self) -> None:
        super().__init__()
        self.socket = socket.socket()
        self.closing = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the socket."""
        return self.socket if name == "socket" else default

    def get_write_buffer_size(self) -> int:
        """Return 0: nothing is kept."""
        return 0

    def is_closing(self) -> bool:
        """Return whether the emulator has aborted."""
        return self.closing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Drop data."""
        del data

    def abort(self) -> None:
        """Close."""
        self.closing = True

    def pause_reading(self) -> None:
        """Do nothing."""

    def resume_reading(self) -> None:
        """Do nothing."""


def robot() -> tuple[Controller, Link]:
    return Controller(FIRMWARE[Series.CB3], KinematicPlant()), Link()


def assert_still(controller: Controller, began_at: np.ndarray) -> None:
    for _tick in range(3):
        controller.step()
    if not np.array_equal(controller.plant.q_rad, began_at):
        raise AssertionError("the arm moved")


def rtde(content: bytes, _folder: Path) -> None:
    async def talk() -> None:
        controller, link = robot()
        began_at = controller.plant.q_rad.copy()
        hub = RtdeHub(controller, link)
        peer = hub.new_peer()
        feed(peer, content)
        hub.publish(1)
        assert_still(controller, began_at)
        hub.publish(0)

    asyncio.run(talk())


def feed(peer: Peer, content: bytes) -> None:
    wire = Wire()
    peer.connection_made(wire)
    for start in range(0, len(content), 37):
        if not wire.closing:
            peer.take(content[start : start + 37])
    peer.connection_lost(None)
    wire.socket.close()


def rtde_packets() -> list[bytes]:
    def packet(kind: str, payload: bytes) -> bytes:
        return struct.pack(">HB", len(payload) + 3, ord(kind)) + payload

    outputs = struct.pack(">d", 125.0) + b"timestamp,actual_q,robot_mode,output_int_register_0"
    inputs = b"input_int_register_24,input_double_register_24"
    values = struct.pack(">Bid", 1, 5, 0.25)
    start = [packet("V", struct.pack(">H", 2)), packet("v", b""), packet("O", outputs), packet("I", inputs)]
    return [b"".join([*start, packet("S", b""), packet("U", values), packet("P", b"")])]


def lines_to(content: bytes, _folder: Path) -> None:
    controller, link = robot()
    began_at = controller.plant.q_rad.copy()
    dashboard, switches = Dashboard(controller), FaultSwitches(controller, link, lambda: None)
    gripper = GripperServer(controller.gripper, controller.safety)
    for line in content.split(b"\n"):
        text = line.decode("utf-8", "replace").strip()
        for answer in (gripper.answer, dashboard.answer, switches.answer):
            answer(text)
    assert_still(controller, began_at)


LINES = [
    b"SET ACT 1 GTO 1\nSET POS 200 SPE 255 FOR 10\nGET POS\nGET OBJ\nGET STA\nGET FLT\n",
    b"robotmode\nstop\nunlock protective stop\npopup hello\npower on\nbrake release\nload x.urp\n",
    b"delay 20\nobject 0.5\ngripper-fault 3\nrefuse-script on\nprotective-stop why\nrestore\nstate\n",
]


# --- clients of servers -------------------------------------------------------------------------------------


class OneAnswer:
    """A server on this machine that sends the same bytes to every client."""

    def __init__(self) -> None:
        self.content = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            link, _address = self._listener.accept()
            with link:
                link.settimeout(REPLY_S)
                try:
                    link.recv(4096)
                    link.sendall(self.content)
                    link.shutdown(socket.SHUT_WR)
                    while link.recv(4096):
                        pass
                except OSError:
                    continue


@cache
def server() -> OneAnswer:
    return OneAnswer()


def http_answer(content: bytes, _folder: Path) -> None:
    answering = server()
    answering.content = content
    client = HttpServer(Address("127.0.0.1", answering.port), REPLY_S, MOST_BYTES, {})
    answer = client.request("/v1", b"{}", Deadline.after(REPLY_S, "no answer"))
    json_arrays.unpack(answer.body, MOST_BYTES)


def websocket_answer(content: bytes, _folder: Path) -> None:
    answering = server()
    answering.content = content
    deadline = Deadline.after(REPLY_S, "no answer")
    address = Address("127.0.0.1", answering.port)
    link = Websocket.connect(address, deadline, most_bytes=MOST_BYTES, headers={})
    try:
        link.receive(deadline)
    finally:
        link.close()


def gripper_answer(content: bytes, _folder: Path) -> None:
    answering = server()
    answering.content = content
    link = RobotiqConnection("127.0.0.1", answering.port, REPLY_S)
    try:
        link.get("POS")
    finally:
        link.close()


# --- data sets of LeRobot -----------------------------------------------------------------------------------

LEROBOT_INFO = {
    "codebase_version": "v3.0",
    "total_episodes": 1,
    "chunks_size": 1000,
    "fps": 10,
    "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
    "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    "features": {
        "action": {"dtype": "float32", "shape": [2], "names": None},
        "top": {"dtype": "image", "shape": [24, 32, 3], "names": ["height", "width", "channels"]},
    },
}


def lerobot_info(content: bytes, _folder: Path) -> DatasetInfo:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / INFO_FILE
        path.parent.mkdir()
        path.write_bytes(content)
        return read_info(Path(folder))


def lerobot_steps() -> list[bytes]:
    cells = [{"bytes": data, "path": None} for data in encoded(".png")]
    columns = {name: [0, 0] for name in ("episode_index", "task_index")}
    moves = pa.array([[0.5, 1.0]] * 2, pa.list_(pa.float32(), 2))
    sink = io.BytesIO()
    table = {"frame_index": [0, 1], "timestamp": [0.0, 0.1], "action": moves, "top": cells}
    pq.write_table(pa.table(columns | table), sink)
    return [sink.getvalue()]


def read_steps(path: Path) -> None:
    info = lerobot_info(json.dumps(LEROBOT_INFO).encode(), path.parent)
    for _ in DataFile(path, info, {0: "pick"}).steps([Episode(0, ("pick",), 2, "", {})], ["top"]):
        pass


def videos() -> list[bytes]:
    return videos_of("mp4", "libx264", "libsvtav1")


def videos_of(form: str, *codecs: str) -> list[bytes]:
    made = []
    for codec in codecs:
        sink = io.BytesIO()
        with av.open(sink, "w", format=form) as container:
            stream = container.add_stream(codec, 10, options={"g": "2"})
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            with kept_scheduling():
                stream.codec_context.open()
            for seed in range(4):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(image(seed, 48, 64), format="rgb24")))
            container.mux(stream.encode())
        made.append(sink.getvalue())
    return made


def read_frames(path: Path) -> None:
    for _ in VideoFrames(path).images():
        pass


def read_video(path: Path) -> None:
    with Video(path, 64, 48) as video:
        for step in (0, 1, 3, 2):
            video.at(step / 10)


HTTP = [
    b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\nRetry-After: 2\r\n\r\n{"actions": [1]}',
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"a": 1}\r\n0\r\n\r\n',
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x82\x03abc",
]


_ALL = (
    from_file("mcap", ".mcap", recordings, read_recording),
    from_file("sqlite", ".db3", sqlite_recordings, read_recording),
    from_file("mcap recovery", ".mcap", recordings, recover, "input.recovered.mcap"),
    from_file("png", ".png", lambda: encoded(".png"), read_image),
    from_file("jpeg", ".jpg", lambda: encoded(".jpg"), read_image),
    from_file("tiff, webp, bmp", ".tiff", lambda: encoded(".tiff", ".webp", ".bmp"), read_image),
    Target("cdr", lambda: [image_to_cdr(image(1), 5, "top")], lambda data, _folder: image_from_cdr(data)),
    Target("depth cdr", depth_messages, lambda data, _folder: depth_from_cdr(data)),
    Target(
        "compressed depth cdr",
        compressed_depth_messages,
        lambda data, _folder: depth_from_cdr(data, COMPRESSED_TYPE),
    ),
    Target("compressed cdr", compressed_messages, lambda data, _folder: compressed_from_cdr(data)),
    from_file("yaml", ".yaml", lambda: shipped("config/trial.yaml"), load_yaml),
    from_file("expert trajectory", ".json", trajectories, read_trajectory),
    from_file("executions", ".csv", lambda: [EXECUTION_CSV], executions_of_csv),
    from_file("parameters", ".yaml", lambda: shipped("config/trial.yaml"), lambda path: resolve((path,))),
    from_file("gate", ".yaml", lambda: shipped("config/gate/simulated.yaml"), load_calibrations),
    from_file("task yaml", ".yaml", task_yaml, lambda path: load_task_file(path, files_exist=False)),
    from_file("task csv", ".csv", lambda: [TASK_CSV], lambda path: load_task_file(path, files_exist=False)),
    from_file("static benchmark", ".tsv", item_tables, read_tsv),
    from_file("trajectories", ".json", trajectory_files, read_trajectories),
    Target("plan", lambda: PLANS, lambda data, _: parse_answer(data.decode("utf-8", "replace"))),
    from_file("parquet", ".parquet", tables, read_columns),
    Target("lerobot info", lambda: [json.dumps(LEROBOT_INFO).encode()], lerobot_info),
    from_file("lerobot data", ".parquet", lerobot_steps, read_steps),
    from_file("mp4", ".mp4", videos, read_video),
    from_file("mkv", ".mkv", lambda: videos_of("matroska", "libx264"), read_frames),
    from_file("avi", ".avi", lambda: videos_of("avi", "mpeg4"), read_frames),
    from_file("onnx card", ".json", cards, load_card),
    from_file("episodes", ".jsonl", manipulation_episodes, read_episodes),
    from_file("safetensors", ".safetensors", weights, read_size),
    Target("msgpack", cache(msgpack_messages), lambda data, _: msgpack_arrays.unpack(data, MOST_BYTES)),
    Target("json", cache(json_messages), lambda data, _: json_arrays.unpack(data, MOST_BYTES)),
    Target("rtde", cache(rtde_packets), rtde),
    Target("gripper, dashboard, faults", lambda: LINES, lines_to),
    Target("http", lambda: HTTP[:2], http_answer, prepare=server),
    Target("websocket", lambda: HTTP, websocket_answer, prepare=server),
    Target("gripper client", lambda: [b"POS 12\n", b"ack", b"?"], gripper_answer, prepare=server),
)
TARGETS = {target.name: target for target in _ALL}

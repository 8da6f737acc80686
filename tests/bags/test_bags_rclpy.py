"""Our bytes against those of ROS itself: serialisation, type hashes, definitions."""

from __future__ import annotations

import array
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.data.recording.definitions import default_prefixes
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_from_cdr, image_to_cdr

rclpy_serialization = pytest.importorskip("rclpy.serialization", reason="ROS is not installed")
ours = pytest.importorskip("embodied_iqa_msgs.msg", reason="the interface package is not built")

OURS = sorted(name for name in vars(ours) if name[0].isupper() and not name.startswith("Metaclass"))
STANDARD = [
    "sensor_msgs/msg/Image",
    "sensor_msgs/msg/CompressedImage",
    "sensor_msgs/msg/CameraInfo",
    "sensor_msgs/msg/JointState",
    "geometry_msgs/msg/PoseStamped",
    "diagnostic_msgs/msg/DiagnosticArray",
]
TYPE_NAMES = [*STANDARD, *(f"embodied_iqa_msgs/msg/{name}" for name in OURS)]
NUMBERS = {
    "boolean": lambda random: bool(random.integers(2)),
    "octet": lambda random: bytes([random.integers(256)]),
    "float": lambda random: float(np.float32(random.normal())),
    "double": lambda random: float(random.normal()),
}


@pytest.fixture(scope="module")
def types() -> TypeStore:
    return TypeStore()


def message_class(type_name: str) -> Any:
    package, _, name = type_name.split("/")
    __import__(f"{package}.msg")
    return getattr(sys.modules[f"{package}.msg"], name)


def fill(message: Any, random: np.random.Generator) -> Any:
    """Give every field, nested ones too, a random value."""
    for field, kind in message.get_fields_and_field_types().items():
        current = getattr(message, field)
        if hasattr(current, "get_fields_and_field_types"):
            fill(current, random)
        elif isinstance(current, np.ndarray | array.array):
            size = len(current) or int(random.integers(5))
            integer = not kind.startswith(("float", "double", "sequence<float", "sequence<double"))
            values = random.integers(0, 100, size) if integer else random.normal(size=size)
            setattr(message, field, values.tolist())
        elif isinstance(current, list):
            setattr(message, field, sequence(kind, random))
        elif isinstance(current, str):
            setattr(message, field, "".join(map(chr, random.integers(32, 900, random.integers(9)))))
        else:
            make = NUMBERS.get(kind, lambda random: int(random.integers(0, 100)))
            setattr(message, field, make(random))
    return message


def sequence(kind: str, random: np.random.Generator) -> list[Any]:
    element = kind.removeprefix("sequence<").removesuffix(">").partition(",")[0]
    count = int(random.integers(1, 4))
    if element == "string":
        return [f"word {index}" for index in range(count)]
    package, name = element.split("/")
    return [fill(message_class(f"{package}/msg/{name}")(), random) for _ in range(count)]


@pytest.mark.parametrize("type_name", TYPE_NAMES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ros_reads_what_we_write_again(types: TypeStore, type_name: str, seed: int) -> None:
    sent = fill(message_class(type_name)(), np.random.default_rng(seed))
    received = types.deserialise(rclpy_serialization.serialize_message(sent), type_name)
    back = rclpy_serialization.deserialize_message(types.serialise(received), message_class(type_name))
    assert back == sent
    assert back != message_class(type_name)(), "a message without values proves nothing"


@pytest.mark.parametrize("type_name", TYPE_NAMES)
def test_type_hashes_are_those_of_the_installed_packages(types: TypeStore, type_name: str) -> None:
    package, _, name = type_name.split("/")
    files = [prefix / "share" / package / "msg" / f"{name}.json" for prefix in default_prefixes()]
    described = json.loads(next(file for file in files if file.is_file()).read_text())
    expected = {entry["type_name"]: entry["hash_string"] for entry in described["type_hashes"]}
    assert types.type_hash(type_name) == expected[type_name]


def test_images_of_ros_are_read_and_written(types: TypeStore) -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    image = message_class(IMAGE_TYPE)(height=5, width=7, encoding="rgb8", step=21, data=rgb.tobytes())
    image.header.frame_id = "top_camera_optical_frame"
    image.header.stamp.sec, image.header.stamp.nanosec = 1_700_000_000, 123
    found = image_from_cdr(rclpy_serialization.serialize_message(image))
    assert (found.stamp_ns, found.frame_id) == (1_700_000_000_000_000_123, "top_camera_optical_frame")
    assert np.array_equal(found.rgb, rgb)
    cdr = image_to_cdr(rgb, found.stamp_ns, found.frame_id)
    assert rclpy_serialization.deserialize_message(cdr, type(image)) == image


def test_recorded_bytes_of_ros_come_back(types: TypeStore, tmp_path: Path) -> None:
    sent = {name: fill(message_class(name)(), np.random.default_rng(5)) for name in TYPE_NAMES}
    path = tmp_path / "trial.mcap"
    with TrialWriter(path, types=types) as writer:
        for name, message in sent.items():
            writer.add_channel(f"/{name}", name)
            writer.write(f"/{name}", rclpy_serialization.serialize_message(message), 1)
    with TrialReader(path) as reader:
        for message in reader.messages():
            assert types.serialise(reader.decode(message)) is not None
            back = rclpy_serialization.deserialize_message(message.cdr, message_class(message.type_name))
            assert back == sent[message.type_name]

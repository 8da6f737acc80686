"""The fast path for images against the decoders of rosbags and mcap-ros2."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory
from numpy.typing import NDArray
from recording_samples import EVENT_TYPE, type_store
from rosbags.typesys import Stores, get_typestore

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.image_cdr import (
    IMAGE_TYPE,
    image_from_cdr,
    image_to_cdr,
    stamp_from_cdr,
)

JAZZY = get_typestore(Stores.ROS2_JAZZY)
CHANNELS_OF = {
    "rgb8": [0, 1, 2],
    "bgr8": [2, 1, 0],
    "rgba8": [0, 1, 2],
    "bgra8": [2, 1, 0],
    "mono8": [0, 0, 0],
}
BYTES_OF = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}
frame_ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
stamps = st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1)


def message(rows: NDArray[np.uint8], width: int, encoding: str, frame_id: str = "f", stamp_ns: int = 5):
    """An Image message whose rows may be longer than the image is wide; rosbags' own class."""
    types = JAZZY.types
    sec, nanosec = divmod(stamp_ns, 10**9)
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](sec, nanosec), frame_id)
    return types[IMAGE_TYPE](header, len(rows), width, encoding, 0, rows.shape[1], rows.reshape(-1))


@settings(max_examples=60, deadline=None)
@given(
    encoding=st.sampled_from(list(CHANNELS_OF)),
    size=st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(0, 3)),
    frame_id=frame_ids,
    stamp_ns=stamps,
    little_endian=st.booleans(),
)
def test_reads_what_rosbags_wrote(
    encoding: str, size: tuple[int, int, int], frame_id: str, stamp_ns: int, little_endian: bool
) -> None:
    (height, width, padding), channels = size, BYTES_OF[encoding]
    rows = np.random.default_rng(height).integers(
        0, 256, (height, width * channels + padding), dtype=np.uint8
    )
    image = message(rows, width, encoding, frame_id, stamp_ns)
    cdr = bytes(JAZZY.serialize_cdr(image, IMAGE_TYPE, little_endian=little_endian))
    found = image_from_cdr(cdr)
    pixels = rows[:, : width * channels].reshape(height, width, channels)
    assert (found.stamp_ns, found.frame_id, found.encoding) == (stamp_ns, frame_id, encoding)
    assert np.array_equal(found.rgb, pixels[:, :, CHANNELS_OF[encoding]])
    assert found.rgb.flags.c_contiguous
    assert not found.rgb.flags.writeable
    assert stamp_from_cdr(cdr) == stamp_ns


@settings(max_examples=40, deadline=None)
@given(height=st.integers(1, 5), width=st.integers(1, 5), frame_id=frame_ids, stamp_ns=stamps)
def test_writes_what_rosbags_and_mcap_ros2_read(
    height: int, width: int, frame_id: str, stamp_ns: int
) -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)
    cdr = image_to_cdr(rgb, stamp_ns, frame_id)
    assert cdr == bytes(
        JAZZY.serialize_cdr(message(rgb.reshape(height, -1), width, "rgb8", frame_id, stamp_ns), IMAGE_TYPE)
    )
    text, _ = JAZZY.generate_msgdef(IMAGE_TYPE, ros_version=2)
    decode = DecoderFactory().decoder_for("cdr", Schema(1, text.encode(), "ros2msg", IMAGE_TYPE))
    assert decode is not None
    other = decode(cdr)
    assert (other.height, other.width, other.step, other.encoding) == (height, width, 3 * width, "rgb8")
    assert other.header.stamp.sec * 10**9 + other.header.stamp.nanosec == stamp_ns
    assert bytes(other.data) == rgb.tobytes()


def test_rgb_pixels_are_not_copied() -> None:
    cdr = image_to_cdr(np.zeros((4, 5, 3), np.uint8), 1)
    assert np.shares_memory(image_from_cdr(cdr).rgb, np.frombuffer(cdr, np.uint8))


def test_images_that_are_not_contiguous_can_be_written() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)[::2, ::-1]
    assert np.array_equal(image_from_cdr(image_to_cdr(rgb, 1)).rgb, rgb)


@pytest.mark.parametrize(
    "rgb", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8)]
)
def test_other_arrays_are_refused(rgb: NDArray[np.generic]) -> None:
    with pytest.raises(InputError, match=r"expected \(H, W, 3\) uint8"):
        image_to_cdr(rgb, 0)


def test_every_cut_is_refused() -> None:
    cdr = image_to_cdr(np.zeros((2, 2, 3), np.uint8), 1, "frame")
    for end in range(len(cdr)):
        with pytest.raises(InputError):
            image_from_cdr(cdr[:end])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_wrong_bytes_are_refused_or_read(data: st.DataObject) -> None:
    cdr = bytearray(image_to_cdr(np.zeros((2, 2, 3), np.uint8), 1, "frame"))
    for _ in range(data.draw(st.integers(1, 4))):
        cdr[data.draw(st.integers(0, len(cdr) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        assert image_from_cdr(bytes(cdr)).rgb.shape[2] == 3


def test_unknown_encoding_lists_the_known_ones() -> None:
    image = message(np.zeros((2, 4), np.uint8), 2, "nv21")
    with pytest.raises(InputError, match=r"got 'nv21'; available: rgb8, bgr8"):
        image_from_cdr(bytes(JAZZY.serialize_cdr(image, IMAGE_TYPE)))


def test_size_and_data_must_agree() -> None:
    image = message(np.zeros((2, 5), np.uint8), 2, "rgb8")
    with pytest.raises(InputError, match="disagree"):
        image_from_cdr(bytes(JAZZY.serialize_cdr(image, IMAGE_TYPE)))


def test_stamp_of_any_message_with_a_header() -> None:
    types = type_store()
    event = types.new(EVENT_TYPE, header=types.header(1_234_567_890_123, "base"))
    assert stamp_from_cdr(types.serialise(event)) == 1_234_567_890_123
    with pytest.raises(InputError):
        stamp_from_cdr(b"\0\1\0\0\1\0")

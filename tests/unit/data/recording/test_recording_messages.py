"""Serialising without ROS, against an independent serialiser and decoder."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap_ros2._dynamic import generate_dynamic
from recording_samples import EVENT_TYPE, type_store

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.messages import TypeStore

CHUNK = "embodied_iqa_msgs/msg/ActionChunk"
INCREMENT = "embodied_iqa_msgs/msg/ActionIncrement"


@settings(max_examples=40, deadline=None)
@given(
    task=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    rows=st.lists(st.lists(st.floats(allow_nan=False), min_size=7, max_size=7), max_size=4),
    stamp_ns=st.integers(0, 2**31 * 10**9 - 1),
    sequence=st.integers(0, 2**32 - 1),
    joints=st.lists(st.floats(allow_nan=False), max_size=6),
)
def test_others_read_what_was_serialised(
    task: str, rows: list[list[float]], stamp_ns: int, sequence: int, joints: list[float]
) -> None:
    types = type_store()
    names = ("x", "y", "z", "rx", "ry", "rz", "gripper")
    increments = [types.new(INCREMENT, **dict(zip(names, row, strict=True))) for row in rows]
    message = types.new(
        CHUNK,
        header=types.header(stamp_ns, "f"),
        task=task,
        increments=increments,
        sequence=sequence,
        joints=joints,
    )
    cdr = types.serialise(message)
    other = generate_dynamic(CHUNK, types.definitions.full_text(CHUNK))[CHUNK](cdr)
    assert other.task == task
    assert other.sequence == sequence
    assert other.header.stamp.sec * 10**9 + other.header.stamp.nanosec == stamp_ns
    assert [[getattr(step, name) for name in names] for step in other.increments] == rows
    again = types.deserialise(cdr, CHUNK)
    assert types.serialise(again) == cdr
    assert list(other.joints) == list(again.joints) == joints
    for field in dataclasses.fields(message):  # arrays have no truth value
        assert np.all(getattr(again, field.name) == getattr(message, field.name)), field.name


def test_constants_are_attributes_of_the_class() -> None:
    assert type_store().message_class(CHUNK).STATUS_NO_TARGET == 2


def test_new_message_is_zero_and_takes_lists_bytes_and_arrays() -> None:
    types = type_store()
    info = types.new("sensor_msgs/msg/CameraInfo")
    assert (info.height, info.distortion_model, list(info.k), len(info.d)) == (0, "", [0.0] * 9, 0)
    for value in ([1, 2, 3], b"\1\2\3", np.array([1, 2, 3])):
        image = types.new("sensor_msgs/msg/Image", data=value)
        assert list(types.deserialise(types.serialise(image), "sensor_msgs/msg/Image").data) == [1, 2, 3]


def test_wrong_names_and_values_are_told() -> None:
    types = type_store()
    with pytest.raises(InputError, match="no such field; got 'colour'; available: header, "):
        types.new(EVENT_TYPE, colour=3)
    with pytest.raises(InputError, match="cannot serialise"):
        types.serialise(types.new(EVENT_TYPE, run_index=-1))
    with pytest.raises(InputError, match="cannot serialise"):
        types.serialise(types.new(EVENT_TYPE, task=5))
    with pytest.raises(InputError, match="cannot serialise"):
        types.serialise(types.new("sensor_msgs/msg/CameraInfo", k=[1.0] * 8))


def test_wrong_bytes_are_told() -> None:
    types = type_store()
    cdr = types.serialise(types.new(EVENT_TYPE, task="pick"))
    for end in (0, 3, 4, 20, len(cdr) - 8):
        with pytest.raises(InputError, match="TrialEvent"):
            types.deserialise(cdr[:end], EVENT_TYPE)
    with pytest.raises(InputError, match="not plain CDR"):
        types.deserialise(b"\0\7" + cdr[2:], EVENT_TYPE)


def test_bytes_after_the_message_are_ignored() -> None:
    """Fast CDR leaves them behind empty sequences: this JointState came from rclpy 7.1.6."""
    cdr = bytes.fromhex(
        "00010000000000000000000001000000006f736900000000000000000100000072745f66000000000000f03f0000000000050000"
    )
    state = type_store().deserialise(cdr, "sensor_msgs/msg/JointState")
    assert (list(state.position), list(state.velocity), list(state.effort)) == ([], [1.0], [])


def test_big_endian_messages_are_read() -> None:
    types = type_store()
    message = types.new(EVENT_TYPE, task="pick", scene_seed=-5)
    cdr = bytes(types._store.serialize_cdr(message, EVENT_TYPE, little_endian=False))
    assert types.deserialise(cdr, EVENT_TYPE) == message


def test_stores_that_learn_the_same_share_its_classes_and_nothing_else() -> None:
    one, other, third = TypeStore(), TypeStore(), TypeStore()
    for types in (one, other):
        types.learn("a_msgs/msg/A", "int32 x")
    third.learn("a_msgs/msg/A", "int32 y")
    assert one.message_class("a_msgs/msg/A") is other.message_class("a_msgs/msg/A")
    one.learn("b_msgs/msg/B", f"a_msgs/A a\n{'=' * 80}\nMSG: a_msgs/A\nint32 x")
    cdr = one.serialise(one.new("b_msgs/msg/B", a=one.new("a_msgs/msg/A", x=3)))
    assert one.deserialise(cdr, "b_msgs/msg/B").a.x == 3
    with pytest.raises(InputError, match="b_msgs/msg/B"):
        other.deserialise(cdr, "b_msgs/msg/B")
    assert third.deserialise(cdr, "a_msgs/msg/A").y == 3


def test_contradicting_definition_is_told() -> None:
    types = TypeStore()
    types.learn("a_msgs/msg/A", "int32 x")
    with pytest.raises(InputError, match="a_msgs/msg/A"):
        types.learn("a_msgs/msg/A", "int32 y")
    with pytest.raises(InputError, match="b_msgs/msg/B"):
        types.learn("b_msgs/msg/B", "int32 = = x")

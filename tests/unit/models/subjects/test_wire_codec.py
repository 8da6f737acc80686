"""The message formats: what the reference package writes is read, what may not be sent is refused."""

from __future__ import annotations

import base64
import contextlib
import json
import pickle

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from openpi_client import msgpack_numpy

from embodied_iqa.models.subjects.wire import json_arrays, msgpack_arrays
from embodied_iqa.models.subjects.wire.arrays import NUMBERS
from embodied_iqa.models.subjects.wire.errors import ProtocolError

LIMIT = 1 << 20
ARRAYS = hnp.arrays(
    st.sampled_from(sorted(NUMBERS)).map(np.dtype), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)
)
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
CONTENT = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def same(left: object, right: object):
    if isinstance(left, np.ndarray):
        return (
            isinstance(right, np.ndarray)
            and left.dtype == right.dtype
            and np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
            and left.shape == right.shape
        )
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


@given(CONTENT)
@settings(max_examples=150, deadline=None)
def test_what_the_reference_package_packs_is_read(content: object):
    assert same(content, msgpack_arrays.unpack(msgpack_numpy.packb(content), LIMIT))


@given(CONTENT)
@settings(max_examples=150, deadline=None)
def test_the_reference_package_reads_what_is_packed(content: object):
    assert same(content, msgpack_numpy.unpackb(msgpack_arrays.pack(content)))


@given(st.sampled_from(sorted(NUMBERS)).map(np.dtype).flatmap(lambda kind: hnp.arrays(kind, (1,))))
@settings(max_examples=100, deadline=None)
def test_a_numpy_scalar_is_read_as_the_reference_package_means_it(one: np.ndarray):
    message = msgpack_numpy.packb(one[0])
    ours, theirs = msgpack_arrays.unpack(message, LIMIT), msgpack_numpy.unpackb(message)
    assert type(ours) is type(theirs)
    assert np.array_equal(ours, theirs, equal_nan=one.dtype.kind == "f")


@given(st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_no_bytes_do_worse_than_a_protocol_error(message: bytes):
    for codec in (msgpack_arrays, json_arrays):
        with contextlib.suppress(ProtocolError):
            codec.unpack(message, LIMIT)


def array(**changes: object):
    parts = {b"__ndarray__": True, b"data": b"\0" * 8, b"dtype": "<f4", b"shape": [2]} | {
        key.encode(): value for key, value in changes.items()
    }
    return msgpack.packb(parts)


@pytest.mark.parametrize(
    "message",
    [
        array(dtype="|O", data=pickle.dumps("x")),
        array(dtype="<U2"),
        array(dtype="<c8"),
        array(dtype="<M8[s]"),
        array(dtype="f4,f4"),
        array(dtype=["<f4"]),
        array(dtype="|V4"),
        array(shape=[3]),
        array(shape=[1]),
        array(shape=[-2]),
        array(shape=[2.0]),
        array(shape=[True, 2]),
        array(shape=[2**62, 4]),
        array(shape=[1] * 9),
        array(shape=2),
        array(data="text"),
        array(data=[0, 0]),
    ],
)
def test_an_array_that_is_not_what_it_says_is_refused(message: bytes):
    with pytest.raises(ProtocolError):
        msgpack_arrays.unpack(message, LIMIT)


@pytest.mark.parametrize(
    "message",
    [
        msgpack.packb(msgpack.ExtType(5, b"x")),
        msgpack.packb(msgpack.Timestamp(1)),
        msgpack.packb({1: "number as a name"}),
        b"\xdd\x7f\xff\xff\xff",  # a list that claims two thousand million items
        b"\xdf\x7f\xff\xff\xff",
        b"\xc6\x7f\xff\xff\xff",
        b"\x91" * 100 + b"\xc0",
        b"\x91" * 5000 + b"\xc0",
        b"\xc1",
        b"",
        msgpack.packb(1) + b"rest",
        msgpack.packb({b"__npgeneric__": True, b"data": "1", b"dtype": "<f4"}),
        msgpack.packb({b"__npgeneric__": True, b"data": 300, b"dtype": "|u1"}),
    ],
)
def test_a_message_that_could_harm_is_refused(message: bytes):
    with pytest.raises(ProtocolError):
        msgpack_arrays.unpack(message, LIMIT)


def test_a_message_over_the_limit_is_refused_before_it_is_read():
    with pytest.raises(ProtocolError, match="too long"):
        msgpack_arrays.unpack(msgpack_arrays.pack(np.zeros(1000)), 1000)
    with pytest.raises(ProtocolError, match="too long"):
        json_arrays.unpack(b" " * 11, 10)


@pytest.mark.parametrize("value", [np.array([object()]), np.array(["a"]), np.array([1j]), object(), {1, 2}])
def test_what_cannot_be_sent_is_refused(value: object):
    for codec in (msgpack_arrays, json_arrays):
        with pytest.raises(ProtocolError):
            codec.pack(value)


@given(ARRAYS)
@settings(max_examples=100, deadline=None)
def test_json_arrays_come_back(value: object):
    assert same(value, json_arrays.unpack(json_arrays.pack(value), LIMIT))


def test_json_arrays_are_written_as_json_numpy_writes_them():
    value = np.arange(6, dtype=np.float64).reshape(2, 3)
    written = json.loads(json_arrays.pack({"image": value}))["image"]
    assert written == {
        "__numpy__": base64.b64encode(value.tobytes()).decode(),
        "dtype": "<f8",
        "shape": [2, 3],
    }


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"__numpy__": "AAAA", "dtype": "|O", "shape": [1]}',
        '{"__numpy__": "!!", "dtype": "<f4", "shape": [1]}',
        '{"__numpy__": 7, "dtype": "<f4", "shape": [1]}',
        "nothing",
        "1" * 5000,
    ],
)
def test_json_that_could_harm_is_refused(text: str):
    with pytest.raises(ProtocolError):
        json_arrays.unpack(text, LIMIT)


def test_brackets_in_words_are_no_nesting():
    text = json.dumps({"words": "[" * 100 + '\\"{'})
    assert json_arrays.unpack(text, LIMIT)["words"].startswith("[[[")

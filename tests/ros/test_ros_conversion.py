"""Conversion to ROS messages and back preserves our types."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk as ChunkMessage
from embodied_iqa_msgs.msg import DistortionSpec as SpecMessage
from embodied_iqa_msgs.msg import TrialEvent
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from scipy.spatial.transform import Rotation

from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, LensCalibration, View
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_uncalibrated,
    is_unknown_pose,
    lens_from_info,
    matrix_from_pose,
)
from embodied_iqa.live.nodes.playback_node import current_message
from embodied_iqa.live.ros.conversion import (
    camera_info_of,
    chunk_to_msg,
    increments_of,
    info_of,
    lease_of,
    lease_to_msg,
    ns_of,
    pose_of,
    spec_of,
    spec_to_msg,
    state_to_msg,
    time_of,
    uncalibrated_info,
    unknown_pose,
)
from embodied_iqa.live.ros.goals import other_frames_of
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

STAMPS = st.integers(0, 2**31 * 1_000_000_000 - 1)
NUMBERS = st.floats(-10, 10)


def wire(message: object) -> object:
    """Return the message, serialised and deserialised."""
    return deserialize_message(serialize_message(message), type(message))


@given(STAMPS)
def test_times_keep_every_nanosecond(stamp_ns: int) -> None:
    assert ns_of(time_of(stamp_ns)) == stamp_ns


@given(
    st.builds(
        GateLease,
        st.sampled_from(CELL_VIEWS),
        STAMPS,
        st.sampled_from(Verdict),
        st.sampled_from(Verdict),
        STAMPS,
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    ),
    st.sampled_from(GateMode),
)
def test_leases_are_preserved(lease: GateLease, mode: GateMode) -> None:
    assert lease_of(wire(lease_to_msg(lease, mode))) == lease


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_poses_are_preserved_to_rounding(p: tuple[float, ...], turn: tuple[float, ...]) -> None:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), p
    back = matrix_from_pose(wire(pose_of(T)))
    assert np.allclose(back, T, atol=1e-12)
    assert np.array_equal(back[:3, 3], T[:3, 3])


def test_intrinsics_are_preserved() -> None:
    k = Intrinsics(1280, 720, 910.25, 911.5, 639.5, 359.25)
    info = wire(camera_info_of(k))
    assert intrinsics_from_info(info) == k
    point = np.array([0.3, -0.2, 1.7, 1.0])
    u, v, w = np.array(info.p).reshape(3, 4) @ point
    assert (u / w, v / w) == pytest.approx((k.fx_px * 0.3 / 1.7 + 639.5, k.fy_px * -0.2 / 1.7 + 359.25))


def test_a_lens_is_preserved() -> None:
    r = (0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    k, p = (90.0, 0.0, 31.5, 0.0, 91.0, 23.5, 0.0, 0.0, 1.0), tuple(map(float, range(1, 13)))
    lens = LensCalibration(64, 48, "rational_polynomial", tuple(n / 8 for n in range(8)), k, r, p)
    frame = Frame(View.TOP, 5, np.zeros((48, 64, 3), np.uint8), lens.pinhole, None, lens)
    assert lens_from_info(wire(info_of(frame))) == lens
    assert intrinsics_from_info(wire(info_of(replace(frame, lens=None)))) == lens.pinhole
    assert is_uncalibrated(wire(info_of(replace(frame, lens=None, intrinsics=None))))


def test_an_uncalibrated_camera_says_so_and_keeps_its_size() -> None:
    info = wire(uncalibrated_info(640, 480))
    assert is_uncalibrated(info)
    assert (info.width, info.height) == (640, 480)
    for matrix in (info.k, info.r, info.p):
        assert not np.any(matrix)
    with pytest.raises(InputError, match="the camera is not calibrated"):
        intrinsics_from_info(info)


def test_an_unknown_pose_says_so_and_is_never_a_pose() -> None:
    pose = wire(unknown_pose())
    assert is_unknown_pose(pose)
    with pytest.raises(InputError, match="finite numbers"):
        matrix_from_pose(pose)


BURST = DistortionSpec("19", 5, schedule="burst:start=1,length=1")


@pytest.mark.parametrize(
    "spec", [None, DistortionSpec("19", 5, 2**62, frozen=True), DistortionSpec("02", 1), BURST]
)
def test_distortions_are_preserved(spec: DistortionSpec | None) -> None:
    assert spec_of(wire(spec_to_msg(spec))) == spec


def test_a_state_has_the_level_in_force() -> None:
    states = [wire(state_to_msg(BURST, 7, 7 + elapsed * SECOND_NS // 2)) for elapsed in range(5)]
    assert [state.level_now for state in states] == [0, 0, 5, 5, 0]
    assert {(ns_of(state.origin), state.level, state.name) for state in states} == {(7, 5, "max-darken")}
    assert [spec_of(state) for state in states] == [BURST] * 5


def test_a_recorded_event_of_an_earlier_definition_becomes_one_of_today() -> None:
    """Its distortion state has no schedule, origin and level in force."""
    today = TrialEvent(kind=1, run_index=2, task="pick", distortion=state_to_msg(BURST, 7, 7))
    earlier = _as_recorded(today, without=("schedule", "origin", "level_now"))
    again = wire(current_message(earlier, TrialEvent))
    assert (again.kind, again.run_index, again.task, again.tool_pose) == (1, 2, "pick", today.tool_pose)
    assert spec_of(again.distortion) == DistortionSpec("19", 5)
    assert wire(current_message(_as_recorded(today), TrialEvent)) == today


def _as_recorded(message: Any, without: tuple[str, ...] = ()) -> SimpleNamespace:
    """A message as `TrialReader` decodes it: fields as attributes."""
    fields = {name: getattr(message, name) for name in message.get_fields_and_field_types()}
    nested = {
        name: _as_recorded(value, without)
        for name, value in fields.items()
        if hasattr(value, "get_fields_and_field_types")
    }
    return SimpleNamespace(**{name: v for name, v in (fields | nested).items() if name not in without})


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(UsageError):
        spec_of(SpecMessage(id="19", level=9))


@pytest.mark.parametrize("status", list(ChunkStatus))
def test_increments_are_preserved_bit_for_bit(status: ChunkStatus) -> None:
    increments = np.random.default_rng(1).normal(size=(5, 7))
    message = wire(chunk_to_msg(ActionChunk(status, increments, "why", (3.5, 4.0), 0.7)))
    assert increments_of(message).tobytes() == increments.tobytes()
    assert (message.target_u, message.target_v, message.seen, message.reason) == (3.5, 4.0, 0.7, "why")


def test_the_other_images_of_a_decision_are_named_with_their_stamps() -> None:
    message = ChunkMessage(other_views=["side", "wrist"], other_stamps=[time_of(5), time_of(7 * SECOND_NS)])
    assert other_frames_of(wire(message)) == ((View.SIDE, 5), (View.WRIST, 7 * SECOND_NS))
    message.other_stamps = message.other_stamps[:1]
    with pytest.raises(ValueError, match="zip"):
        other_frames_of(message)


def test_an_empty_chunk_without_a_target_is_preserved() -> None:
    message = wire(chunk_to_msg(ActionChunk(ChunkStatus.NO_TARGET, np.empty((0, 7)), "")))
    assert increments_of(message).shape == (0, 7)
    assert math.isnan(message.target_u)
    assert math.isnan(message.seen)

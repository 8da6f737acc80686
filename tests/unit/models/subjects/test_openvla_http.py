"""OpenVLA's HTTP protocol, against a server that answers as deploy.py does."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, TOOL_2F140_M, Kinematics, tool_along_z
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import PolicyOptions, ServerOptions, VlaOptions
from embodied_iqa.models.subjects.wire.errors import (
    ConnectionLostError,
    ProtocolError,
    ServerError,
    WireError,
)
from embodied_iqa.world.protocols import VlaObservation
from openvla_server import deploy, json_numpy
from wire_servers import closed_port

ACTION = np.array([0.01, 0.02, 0.03, 0.1, -0.2, 0.3, 0.0])


def options(**policy: object) -> VlaOptions:
    chosen = {"convention": "openvla-bridge"} | policy
    server = ServerOptions(connect_s=60.0, deadline_s=60.0, retries=0)
    return VlaOptions(server=server, policy=PolicyOptions(**chosen))


def seen(*views: View) -> VlaObservation:
    rgb = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    frames = {
        view: Frame(view, 1, rgb, Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5), np.eye(4))
        for view in views or (View.TOP,)
    }
    return VlaObservation(frames, "pick the red cube", np.eye(4), 0.5, 0)


@pytest.mark.parametrize(
    "answer",
    [
        json_numpy(ACTION),  # json_numpy.patch() and a plain request
        json.dumps(json_numpy(ACTION)),  # encoded twice
        ACTION.tolist(),
        [json_numpy(ACTION)],  # OpenVLA-OFT: a list of arrays
        json.dumps([json_numpy(ACTION)]),
        json_numpy(ACTION.astype(np.float32)),
    ],
)
def test_every_form_of_answer_is_understood(answer: object):
    with deploy(lambda _: answer) as (port, requests):
        vla = make_vla(parse_vla(f"openvla+http://127.0.0.1:{port}/act"), options())
        chunk = vla.act(seen())
    assert chunk.increments.shape == (1, 7)
    assert np.allclose(chunk.increments[0, :3], [-0.01, -0.02, 0.03])
    assert chunk.increments[0, 6] == 1.0, "0 is closed in BridgeData"
    path, _, body = requests[0]
    assert path == "/act"
    assert body["instruction"] == "pick the red cube"
    assert body["unnorm_key"] == "bridge_orig"
    image = np.frombuffer(base64.b64decode(body["image"]["__numpy__"]), body["image"]["dtype"])
    assert image.reshape(body["image"]["shape"]).shape == (224, 224, 3)


def test_oft_gets_both_cameras_and_the_state_and_gives_a_chunk():
    rows = [json_numpy(ACTION) for _ in range(8)]
    with deploy(lambda _: rows) as (port, requests):
        vla = make_vla(
            parse_vla(f"openvla-oft-libero-spatial=openvla+http://127.0.0.1:{port}/act"),
            options(convention=""),
        )
        chunk = vla.act(seen(View.TOP, View.WRIST))
    assert chunk.increments.shape == (8, 7)
    assert set(requests[0][2]) == {"full_image", "wrist_image", "state", "instruction"}


@pytest.mark.parametrize("convention", ["pi0-base", "pi0-base-raw"])
def test_a_policy_in_joints_sees_the_measured_ones_on_either_server(convention: str) -> None:
    """OpenVLA's server reads the one image, OpenVLA-OFT's the others and the state."""
    q_rad = np.array(HOME_Q_RAD) + np.array([0.0, 0, 0, 0, 0, 2 * np.pi])
    turn = np.array([0.01, 0.02, -0.01, 0.0, 0.01, 0.03])
    row = np.append(turn if convention.endswith("raw") else q_rad + turn, 1.0)
    T_base_tool = Kinematics(tool_along_z(TOOL_2F140_M)).forward(q_rad)
    with deploy(lambda _: [json_numpy(row)] * 2) as (port, requests):
        vla = make_vla(
            parse_vla(f"openvla+http://127.0.0.1:{port}/act"),
            options(convention=convention, views="top,wrist", unnorm_key="ours"),
        )
        chunk = vla.act(replace(seen(View.TOP, View.WRIST), T_base_tool=T_base_tool, q_rad=q_rad))
    assert vla.info.joints_of == "ur5"
    np.testing.assert_allclose(chunk.joints_rad, [q_rad + turn] * 2, atol=1e-12)
    body = requests[0][2]
    assert set(body) == {"image", "unnorm_key", "full_image", "wrist_image", "state", "instruction"}
    state = np.frombuffer(base64.b64decode(body["state"]["__numpy__"]), body["state"]["dtype"])
    np.testing.assert_allclose(state, [*q_rad, 0.5], atol=1e-6)


def test_a_token_is_sent_and_never_part_of_a_message(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VLA_KEY", "very-secret")
    server = ServerOptions(key_env="VLA_KEY", connect_s=60.0, deadline_s=60.0, retries=0)
    chosen = VlaOptions(server=server, policy=PolicyOptions(convention="openvla-bridge"))
    with deploy(lambda _: "error") as (port, requests):
        vla = make_vla(parse_vla(f"openvla+http://127.0.0.1:{port}/act"), chosen)
        with pytest.raises(ServerError) as failure:
            vla.act(seen())
    assert requests[0][1] == "Bearer very-secret"
    assert "very-secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("answer", "status", "error", "words"),
    [
        ("error", 200, ServerError, "its log says why"),
        ({"detail": "no"}, 422, ServerError, "HTTP 422"),
        ({}, 500, ServerError, "HTTP 500"),
        ({}, 503, ConnectionLostError, "busy"),
        ({"action": 1}, 200, ProtocolError, "no actions"),
        ([[1, 2], [3]], 200, ProtocolError, "no rows"),
        (["a"] * 7, 200, ProtocolError, "no rows"),
        ([1.0] * 6, 200, InputError, "not openvla-bridge"),
        (None, 200, ProtocolError, "no actions"),
        ({"__numpy__": "AAAA", "dtype": "|O", "shape": [1]}, 200, ProtocolError, "not allowed"),
        ({"__numpy__": "AAAA", "dtype": "<f8", "shape": [7]}, 200, ProtocolError, "needs 56 bytes"),
        ("[" * 5000, 200, ProtocolError, "nested"),
        ([float("nan")] * 7, 200, InputError, "not finite"),
        ([1e9] * 7, 200, InputError, "does not fit"),
    ],
)
def test_wrong_answers_never_become_motion(answer: object, status: int, error: type, words: str):
    with deploy(lambda _: answer, status) as (port, _):
        vla = make_vla(parse_vla(f"openvla+http://127.0.0.1:{port}/act"), options())
        with pytest.raises(error, match=words) as failure:
            vla.act(seen())
        assert "\n" not in str(failure.value)


def test_nobody_there_is_told_when_it_is_loaded():
    with closed_port() as port, pytest.raises(WireError, match="nobody answers"):
        make_vla(parse_vla(f"openvla+http://127.0.0.1:{port}/act"), options())


def test_without_a_convention_it_is_not_guessed():
    with pytest.raises(UsageError, match="what do the actions"):
        make_vla(parse_vla("openvla+http://127.0.0.1:1/act"), options(convention=""))

"""`embodied-iqa subjects`: lists, shows, checks and calibrates, for people and for machines."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from chat_server import MODEL, ChatServer
from embodied_iqa.cli.main import main
from embodied_iqa.models.scoring.constants import UncalibratedError
from embodied_iqa.models.subjects import readiness
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.constants_files import (
    constants_of,
    own_constants_file,
    shipped_constants_file,
)
from embodied_iqa.models.subjects.device import FreeMemory
from tiny_vlms import save_tiny
from wire_servers import Script, closed_port, raw_server, read_head, reference_server


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["subjects", *words]) == code
    return capsys.readouterr().out


def test_the_catalogue_is_listed_for_people_and_machines(capsys: pytest.CaptureFixture[str]) -> None:
    records = json.loads(answer(capsys, "list", "--json"))
    assert len(records) > 55
    shown = answer(capsys, "list")
    assert all(f"\n{record['name']} " in f"\n{shown}" for record in records)
    vlas = json.loads(answer(capsys, "list", "--role", "vla", "--json"))
    assert {record["role"] for record in vlas} == {"vla"}


def test_one_subject_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer(capsys, "show", "qwen2.5-vl-7b")
    assert "Qwen/Qwen2.5-VL-7B-Instruct" in shown
    assert "NAME@COMMIT" in shown
    assert json.loads(answer(capsys, "show", "pi0-droid", "--json"))["convention"] == "pi0-droid"
    answer(capsys, "show", "nobody", code=2)


def test_check_says_what_runs_and_what_the_others_lack(capsys: pytest.CaptureFixture[str]) -> None:
    found = {item["name"]: item for item in json.loads(answer(capsys, "check", "--all", "--json"))}
    assert found["classical-vlm"]["ready"]
    assert found["classical-vla"]["ready"]
    for name, words in (
        ("qwen2.5-vl-7b", "weights (16.58 GB)"),
        ("mini-internvl", "mini-internvl=openai:http://HOST:PORT/v1"),
        ("pi0-droid", "pi0-droid=openpi://HOST:PORT"),
        ("gpt-4o", "OPENAI_API_KEY"),
    ):
        assert not found[name]["ready"]
        assert any(words in lack for lack in found[name]["lacks"]), found[name]


def test_check_of_named_subjects_tells_by_the_exit_code(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    subject = f"transformers:{save_tiny('llava', tmp_path / 'model')}"
    answer(capsys, "check", "classical-vlm", subject)
    with ChatServer() as server:
        answer(capsys, "check", server.reference)
    with closed_port() as port:
        gone = f"openai:http://127.0.0.1:{port}/v1#{MODEL}"
        assert "no server on 127.0.0.1" in answer(capsys, "check", gone, code=1)
    assert "is not a folder" in answer(capsys, "check", "transformers:/no/such/folder", code=1)
    answer(capsys, "check", code=2)
    answer(capsys, "check", "nobody", code=2)


def say_ok(connection: socket.socket, _stop: threading.Event) -> None:
    read_head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")


def say_nothing_of_http(connection: socket.socket, _stop: threading.Event) -> None:
    read_head(connection)
    connection.sendall(b"220 mail.example ESMTP\r\n")


def say_not_found(connection: socket.socket, _stop: threading.Event) -> None:
    read_head(connection)
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def say_not_allowed(connection: socket.socket, _stop: threading.Event) -> None:
    read_head(connection)
    connection.sendall(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    ("reference", "script", "words"),
    [
        ("pi0-droid=openpi://{at}", say_ok, "is not a policy server"),
        ("openvla-7b=openvla+http://{at}", say_nothing_of_http, "gives no HTTP answer"),
        ("openvla-7b=openvla+http://{at}", say_not_found, "has no /act"),
        ("openai:http://{at}/v1#m", say_nothing_of_http, "gives no HTTP answer"),
    ],
)
def test_an_open_port_is_not_yet_a_subject(
    capsys: pytest.CaptureFixture[str], reference: str, script: Script, words: str
) -> None:
    with raw_server(script) as port:
        assert words in answer(capsys, "check", reference.format(at=f"127.0.0.1:{port}"), code=1)


def test_a_server_that_shakes_hands_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    questions: list[dict[str, object]] = []

    def policy(question: dict[str, object]) -> dict[str, object]:
        questions.append(question)
        return {}

    with reference_server({}, policy) as port:
        answer(capsys, "check", f"pi0-droid=openpi://127.0.0.1:{port}")
    with raw_server(say_not_allowed) as port:
        answer(capsys, "check", f"openvla-7b=openvla+http://127.0.0.1:{port}")
    assert questions == []


def test_a_model_that_the_server_lacks_does_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer() as server:
        assert "has no model" in answer(capsys, "check", f"openai:{server.url}#other", code=1)
        assert server.requests == []


def test_check_tells_of_memory_and_libraries(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = f"transformers:{save_tiny('llava', tmp_path / 'model')}"
    monkeypatch.setattr(readiness, "_place", lambda: FreeMemory("a card", 10**8, 10**9))
    assert "0.3 GB of memory; 0.1 GB free on a card" in answer(capsys, "check", subject, code=1)
    missing = ("torch is not installed; expected pip install -r requirements/models.txt",)
    monkeypatch.setattr(readiness, "_libraries_lack", lambda: missing)
    assert "pip install -r requirements/models.txt" in answer(capsys, "check", subject, code=1)


def test_a_subject_of_the_user_is_calibrated_into_the_users_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    subject = f"transformers:{save_tiny('llava', tmp_path / 'model')}"
    with pytest.raises(UncalibratedError, match="embodied-iqa subjects calibrate transformers:"):
        constants_of(subject, "1")
    with pytest.raises(UncalibratedError, match=r"subjects calibrate transformers:.* --role vla`"):
        constants_of(subject, "1", Role.VLA)
    told = json.loads(answer(capsys, "calibrate", subject, "--scenes", "1", "--json"))
    assert Path(told["file"]) == own_constants_file(subject)
    assert Path(told["file"]).is_relative_to(tmp_path / "data")
    constants = constants_of(subject)
    assert constants.frequencies is not None
    assert constants_of(subject, constants.version) == constants
    with pytest.raises(UncalibratedError, match="stale"):
        constants_of(subject, "another")


def test_a_policy_with_cameras_of_a_lab_has_no_images_to_be_calibrated_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reference_server({}, lambda _observation: {}) as port:
        words = [f"openpi://127.0.0.1:{port}", "--set", "vla_node.policy.views=front,wrist"]
        words += ["--set", "vla_node.policy.convention=pi0-libero"]
        assert main(["subjects", "calibrate", *words]) == 2
    error = capsys.readouterr().err
    assert "constants are measured on images of the simulated cell" in error
    assert "got 'front'" in error
    assert "Traceback" not in error


def test_calibrating_a_shipped_subject_leaves_the_package_as_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = sorted(shipped_constants_file("classical-vlm").parent.iterdir())
    before = [(file, file.stat().st_mtime_ns, file.read_bytes()) for file in shipped]
    closed: list[str] = []
    monkeypatch.setattr(ClassicalVlm, "close", lambda _self: closed.append("vlm"), raising=False)
    found = json.loads(answer(capsys, "calibrate", "classical-vlm", "--scenes", "1", "--json"))
    assert closed == ["vlm"]
    assert Path(found["file"]) == tmp_path / "data" / "embodied-iqa" / "constants" / "classical-vlm.json"
    assert [(file, file.stat().st_mtime_ns, file.read_bytes()) for file in shipped] == before
    assert constants_of("classical-vlm").n_references < 300  # the user's own take precedence


def test_vision_models_are_loaded_and_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples" / "extend"))
    shown = answer(capsys, "vision", "python:own_vision:make")
    assert "bright-region det" in shown
    assert "not measured" in shown
    (record,) = json.loads(answer(capsys, "vision", "python:own_vision:make", "--json"))
    assert (record["task"], record["classes"], record["prediction_ms"] > 0) == ("det", ["cube"], True)
    answer(capsys, "vision", "resnet", code=2)

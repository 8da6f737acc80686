"""The entry point of the hosted images, run for real on the files that an image gets, with a small policy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_files import HOSTED, IMAGES, POLICIES, lay_out, words_of
from openpi_client.websocket_client_policy import WebsocketClientPolicy

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import PolicyOptions, ServerOptions, VlaOptions
from embodied_iqa.models.subjects.wire.errors import WireError
from embodied_iqa.world.protocols import ChunkStatus, VlaObservation
from live_process import COMPLETION_S, running_program
from wire_servers import closed_port

SMALL = '''
"""A policy that moves by what it sees."""
import numpy as np
from policy_host.contract import Family, Needs

class Small:
    version = "small-1"
    def __init__(self, request):
        self.width = int(request.options.get("width", "7"))
    def act(self, seen):
        if seen.prompt == "fail":
            raise RuntimeError("out of memory")
        row = np.zeros(self.width)
        row[:3] = seen.images[0].reshape(-1, 3).mean(0) / 25500
        row[-1] = 1.0
        return np.stack([row, row])

FAMILY = Family("small", ("octo-bridge", "openvla-bridge"), Needs.NOTHING, Small, {"width": "of rows"})
'''
BLOCKER = """
import sys
class Heavy:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"yaml", "cv2", "scipy", "torch", "transformers", "mujoco", "numba",
                                  "safetensors", "PIL", "huggingface_hub", "rclpy", "pyarrow"}:
            raise ImportError("not in an image: " + name)
sys.meta_path.insert(0, Heavy())
"""
BRIDGE = ["--convention", "octo-bridge"]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """/opt/policy of Octo's image with a small policy instead of Octo's; libraries of our own are missing."""
    folder = lay_out("octo", tmp_path_factory.mktemp("image"))
    (folder / "policy.py").write_text(SMALL, encoding="utf-8")
    (folder / "sitecustomize.py").write_text(BLOCKER, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "mine"
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def entry(image: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    """Command line and environment as the image has them, with this Python."""
    python, *rest = words_of(IMAGES["octo"].last("ENTRYPOINT"))
    assert python == "python"
    chosen = IMAGES["octo"].variables()
    dropped = {"PYTHONPATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment |= {name: value for name, value in chosen.items() if name.startswith(("HF_", "PYTHONDONT"))}
    environment["PYTHONPATH"] = chosen["PYTHONPATH"].replace("/opt/policy", str(image))
    return [sys.executable, *rest, *words], environment


def run(image: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command, environment = entry(image, *words)
    return subprocess.run(
        command, env=environment, cwd=image, capture_output=True, text=True, check=False, timeout=COMPLETION_S
    )


@contextmanager
def served(image: Path, *words: str, **more: str) -> Iterator[dict[str, Any]]:
    """Serve while the block runs; gives what the server says when it is ready."""
    command, environment = entry(image, "--port", "0", *words)
    changed = {name: value for name, value in environment.items() if os.environ.get(name) != value} | more
    logs = image.parent / f"logs-{uuid.uuid4().hex}"
    with running_program(command, logs, changed, cwd=image, stdout=subprocess.PIPE, text=True) as program:
        line = program.process.stdout.readline()
        assert line, "it has ended"
        try:
            yield json.loads(line)
        finally:
            program.process.terminate()
            assert program.wait(COMPLETION_S) == 0


def health(port: int) -> int:
    """Run the command of the image's HEALTHCHECK on a port."""
    words = words_of(IMAGES["octo"].last("HEALTHCHECK").split("CMD", 1)[1].strip())
    command = [sys.executable, str(POLICIES / "health.py"), str(port)]
    assert [Path(word).name for word in command[1:2]] == [Path(words[1]).name]
    return subprocess.run(command, check=False, timeout=COMPLETION_S).returncode


def asked(value: int = 100, prompt: str = "pick the red cube") -> dict[str, Any]:
    return {"observation/image": np.full((224, 224, 3), value, np.uint8), "prompt": prompt}


def seen_by_us(value: int = 100) -> VlaObservation:
    T_base_tool = np.diag([1.0, -1.0, -1.0, 1.0])
    T_base_tool[:3, 3] = 0.4, 0.1, 0.3
    frames = {
        view: Frame(
            view,
            1,
            np.full((224, 224, 3), value, np.uint8),
            Intrinsics(224, 224, 200, 200, 112, 112),
            np.eye(4),
        )
        for view in (View.TOP, View.WRIST)
    }
    return VlaObservation(frames, "pick the red cube", T_base_tool, 0.0, 0)


@pytest.fixture(scope="module")
def server(image: Path, checkpoint: Path) -> Iterator[dict[str, Any]]:
    with served(image, "--model", str(checkpoint), *BRIDGE) as told:
        yield told


def test_metadata_says_who_acts_by_which_convention(server: dict[str, Any], checkpoint: Path) -> None:
    told = WebsocketClientPolicy("127.0.0.1", server["port"]).get_server_metadata()
    assert (told["name"], told["version"], told["family"]) == (checkpoint.name, "small-1", "small")
    assert told["convention"] == "octo-bridge"
    assert len(told["revision"]) == 12
    assert "protocol" not in told, "the rows are the policy's own, not our increments"


def test_reference_client_gets_rows_and_identity(server: dict[str, Any]) -> None:
    answer = WebsocketClientPolicy("127.0.0.1", server["port"]).infer(asked(51))
    assert answer["actions"].shape == (2, 7)
    np.testing.assert_allclose(answer["actions"][0, :3], 0.002, rtol=1e-6)
    assert answer["version"] == "small-1"
    assert answer["server_timing"]["infer_ms"] >= 0.0


def test_our_client_moves_by_the_convention_that_the_server_tells(server: dict[str, Any]) -> None:
    vla = make_vla(parse_vla(server["address"]))
    try:
        chunk = vla.act(seen_by_us(51))
    finally:
        vla.close()
    assert chunk.status is ChunkStatus.ACT
    np.testing.assert_allclose(np.linalg.norm(chunk.increments[:, :3], axis=1), 0.002 * 3**0.5, rtol=1e-6)
    np.testing.assert_allclose(chunk.increments[:, 6], 0.0, atol=1e-12)


def test_another_convention_in_the_configuration_is_refused(server: dict[str, Any]) -> None:
    options = VlaOptions(policy=PolicyOptions(convention="pi0-libero"), server=ServerOptions(connect_s=5.0))
    with pytest.raises(InputError, match="another convention"):
        make_vla(parse_vla(server["address"]), options)


def test_catalogue_name_in_front_is_held_against_the_server(server: dict[str, Any]) -> None:
    make_vla(parse_vla(f"octo-base={server['address']}")).close()
    with pytest.raises(InputError, match="another convention"):
        make_vla(parse_vla(f"rt-1-x={server['address']}"))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"prompt": "go"}, "needs an image"),
        ({"observation/image": np.zeros((4, 4, 3), np.float32), "prompt": "go"}, "is not an image"),
        ({"observation/image": np.zeros((4, 4, 1), np.uint8), "prompt": "go"}, "wrong size"),
        ({"observation/image": np.zeros((4, 4, 3), np.uint8)}, "needs a prompt"),
        (asked(prompt="fail"), "out of memory"),
    ],
)
def test_a_wrong_question_gets_one_line_and_the_next_one_an_answer(
    server: dict[str, Any], message: dict[str, Any], said: str
) -> None:
    client = WebsocketClientPolicy("127.0.0.1", server["port"])
    with pytest.raises(RuntimeError, match=said) as told:
        client.infer(message)
    assert "Traceback" not in str(told.value)
    assert client.infer(asked())["actions"].shape == (2, 7)


def test_health_of_a_server_and_of_none(server: dict[str, Any]) -> None:
    assert health(server["port"]) == 0
    with closed_port() as port:
        assert health(port) == 1


def test_rows_that_do_not_fit_the_convention_are_told(image: Path, checkpoint: Path) -> None:
    with served(image, "--model", str(checkpoint), *BRIDGE, "--set", "width=6") as told:
        client = WebsocketClientPolicy("127.0.0.1", told["port"])
        with pytest.raises(RuntimeError, match="does not act by octo-bridge"):
            client.infer(asked())


def test_token_is_asked_for(image: Path, checkpoint: Path) -> None:
    words = ("--model", str(checkpoint), *BRIDGE, "--token-env", "POLICY_TOKEN")
    with served(image, *words, POLICY_TOKEN="right") as told:
        assert health(told["port"]) == 0, "health is nobody's secret"
        with pytest.raises(WireError):
            make_vla(parse_vla(told["address"]), VlaOptions(server=ServerOptions(connect_s=2.0)))
        assert WebsocketClientPolicy("127.0.0.1", told["port"], api_key="right").infer(asked())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--model"),
        (("--model", "x"), "what do the actions of this small policy mean"),
        (("--model", "/nowhere", *BRIDGE), "no checkpoint at this path"),
        (("--model", "owner/name", *BRIDGE), "--revision with the 40 digits"),
        (("--model", "owner/name", *BRIDGE, "--revision", "0" * 40), "hf download owner/name"),
        (("--model", "x", "--convention", "pi0-libero"), "unknown convention of small"),
        (("--model", "x", *BRIDGE, "--set", "colour=red"), "unknown option of small"),
        (("--model", "x", *BRIDGE, "--host", "0.0.0.0"), "can be reached by others"),
        (("--model", "x", *BRIDGE, "--token-env", "NOT_SET"), "holds no token"),
    ],
)
def test_wrong_use_is_one_line(image: Path, words: tuple[str, ...], said: str) -> None:
    done = run(image, *words)
    assert done.returncode in {1, 2}
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_libraries_that_images_lack_are_missing_here_too(image: Path) -> None:
    command, environment = entry(image)
    words = [command[0], "-c", "import yaml"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert "not in an image: yaml" in done.stderr


def test_help(image: Path) -> None:
    done = run(image, *words_of(IMAGES["octo"].last("CMD")))
    assert done.returncode == 0
    assert "--trust-remote-code" in done.stdout


@pytest.mark.parametrize("family", HOSTED)
def test_every_image_has_its_family(family: str, tmp_path: Path) -> None:
    """The files that an image gets offer the family with none of its libraries loaded."""
    image = lay_out(family, tmp_path)
    shown = "import policy; print(policy.FAMILY.name, policy.FAMILY.needs)"
    command, environment = entry(image)
    done = subprocess.run(
        [command[0], "-c", shown], env=environment, cwd=image, capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[0] == family, done.stderr


def test_folder_and_file_of_a_model_keep_their_revision(
    image: Path, checkpoint: Path, tmp_path: Path
) -> None:
    other = tmp_path / "mine"
    shutil.copytree(checkpoint, other)
    wrong = run(image, "--model", str(other), *BRIDGE, "--revision", "000000000000")
    assert "is another revision" in wrong.stderr
    revision = wrong.stderr.split("got '")[1].split("'")[0]
    with served(image, "--model", str(other), *BRIDGE, "--revision", revision) as told:
        assert told["revision"] == revision
    (other / "config.json").write_text("[]", encoding="utf-8")
    assert "is another revision" in run(image, "--model", str(other), *BRIDGE, "--revision", revision).stderr

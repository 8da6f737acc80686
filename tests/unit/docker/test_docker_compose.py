"""compose.yaml: the specification's schema, and what keeps servers to themselves."""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from image_files import (
    COMPOSE,
    DOCKER,
    HOSTED,
    IMAGES,
    POLICIES,
    ROOT,
    SERVERS,
    compose,
    filled,
    words_of,
)

from embodied_iqa.cli import serve as serve_command
from embodied_iqa.cli import trial as trial_command
from embodied_iqa.models.subjects.catalogue import Backend, Role, entries, entry
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.runs.graph.node_table import resolve

REMOTE = DOCKER / "compose.remote.yaml"
SERVICES = compose()["services"]


def schema_says(file: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """policy_host's entry point, without the folders beside it, which are named as libraries are."""
    (tmp_path / "policy_host").symlink_to(POLICIES / "policy_host")
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("policy_host.__main__")


@pytest.mark.parametrize("file", [COMPOSE, REMOTE], ids=lambda file: file.name)
def test_schema_of_the_specification(file: Path) -> None:
    done = schema_says(file)
    assert done.returncode == 0, done.stdout


def test_schema_finds_what_is_wrong(tmp_path: Path) -> None:
    content = compose()
    content["services"]["octo"]["healthcheck"]["retries"] = "many"
    content["services"]["octo"]["imgae"] = "typo"
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert schema_says(wrong).returncode != 0


def test_services_are_the_robot_and_the_servers() -> None:
    assert set(SERVICES) == {"robot", *SERVERS}


@pytest.mark.parametrize("name", SERVICES)
def test_image_is_built_from_a_file_that_exists(name: str) -> None:
    build = SERVICES[name]["build"]
    assert (COMPOSE.parent / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
    assert IMAGES[name].chain, "no such target"


@pytest.mark.parametrize("name", SERVERS)
def test_server_is_shut_in(name: str) -> None:
    service = SERVICES[name]
    assert service["profiles"] == [name]
    assert service["networks"] == ["policies"]
    assert compose()["networks"]["policies"]["internal"] is True
    assert "ports" not in service
    assert service["volumes"] == ["models:/models:ro"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged", False)


@pytest.mark.parametrize("name", SERVERS)
def test_consent_is_not_given_by_default(name: str) -> None:
    chosen = filled(SERVICES[name]["environment"])
    assert chosen == {"POLICY_TOKEN": "", "TRUST_REMOTE_CODE": "no", "ACCEPT_PICKLES": "no"}
    assert not {"--trust-remote-code", "--accept-pickles"} & set(SERVICES[name]["command"])


@pytest.mark.parametrize("name", SERVERS)
def test_health_is_asked_as_the_image_does(name: str) -> None:
    asked = words_of(IMAGES[name].last("HEALTHCHECK").split("CMD", 1)[1].strip())
    assert SERVICES[name]["healthcheck"]["test"] == ["CMD", *asked]


@pytest.mark.parametrize("name", SERVERS)
def test_accelerator_is_reserved_where_it_is_used(name: str) -> None:
    devices = SERVICES[name].get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", [])
    uses = "--device=cpu" not in SERVICES[name]["command"]
    assert [device["capabilities"] for device in devices] == ([["gpu"]] if uses else [])


def test_robot_has_room_for_images_and_waits_for_servers() -> None:
    robot = SERVICES["robot"]
    assert robot["shm_size"] == "1gb"
    assert robot["ipc"] == "shareable"
    assert "policies" in robot["networks"]
    needs = {"condition": "service_healthy", "required": False}
    assert robot["depends_on"] == dict.fromkeys(SERVERS, needs)


def test_volumes_and_networks_are_declared() -> None:
    content = compose()
    for service in content["services"].values():
        assert set(service["networks"]) <= set(content["networks"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source.startswith(".") or source in content["volumes"]


def test_published_ports_are_on_loopback_unless_said() -> None:
    services = compose(REMOTE)["services"]
    assert set(services) == set(SERVERS)
    for name, service in services.items():
        (port,) = service["ports"]
        assert filled(port) == "127.0.0.1:8000:8000"
        elsewhere = filled(port, {"POLICY_ADDRESS": "192.168.0.2"})
        assert elsewhere.startswith("127.0.0.1:") == (name == "openpi"), "openpi's server asks for no token"


@pytest.mark.parametrize("family", HOSTED)
def test_command_of_a_hosted_server_is_understood(
    family: str, host: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLICY_TOKEN", "secret")
    arguments = host._parser().parse_args(filled(SERVICES[family]["command"]))
    assert host._settings(arguments).token == "secret"
    assert arguments.host == "0.0.0.0"
    assert arguments.trust_remote_code is arguments.accept_pickles is False
    offered = importlib.util.spec_from_file_location(f"family_{family}", POLICIES / family / "policy.py")
    module = importlib.util.module_from_spec(offered)
    offered.loader.exec_module(module)
    module.FAMILY.check_options(host._options(arguments.set))
    assert module.FAMILY.name == family
    if family != "lerobot":
        assert host._convention(module.FAMILY, arguments.convention)


@pytest.mark.parametrize("family", HOSTED)
def test_server_without_a_token_does_not_open(
    family: str, host: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POLICY_TOKEN", raising=False)
    assert host.main(filled(SERVICES[family]["command"])) == 2
    assert capsys.readouterr().err == "policy_host: the environment variable POLICY_TOKEN holds no token\n"


def test_consent_by_environment(host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUST_REMOTE_CODE", "yes")
    monkeypatch.setenv("ACCEPT_PICKLES", "no")
    arguments = host._parser().parse_args(["--model", "m"])
    assert (arguments.trust_remote_code, arguments.accept_pickles) == (True, False)


def test_command_of_our_own_server_is_understood() -> None:
    parser = argparse.ArgumentParser()
    serve_command.configure(parser)
    arguments = parser.parse_args(filled(SERVICES["native"]["command"]))
    assert (arguments.subject, arguments.host, arguments.token_env) == ("pi0-base", "0.0.0.0", "POLICY_TOKEN")
    entry = words_of(IMAGES["native"].last("ENTRYPOINT"))
    assert entry == ["python", "-m", "embodied_iqa.cli.main", "serve"]


@pytest.mark.parametrize("given", [{}, {"VLA": "octo-base=openpi://octo:8000", "VLA_KEY": "POLICY_TOKEN"}])
def test_command_of_the_robot_is_understood(given: dict[str, str]) -> None:
    command, *words = filled(SERVICES["robot"]["command"], given)
    assert command == "embodied-iqa"
    assert words.pop(0) == "trial"
    parser = argparse.ArgumentParser()
    trial_command.configure(parser)
    arguments = parser.parse_args(words)
    graph = resolve((), trial_command._overrides(arguments))
    assert graph is not None
    assert arguments.vla == given.get("VLA", "panel-vla-query")


def test_the_guide_gives_compose_only_options_that_it_has() -> None:
    """`docker compose run` and `docker run` differ: the first knows no --device, the second no --profile."""
    compose_run = {"--rm", "--no-deps", "--service-ports", "--env", "--volume", "--user", "--name"}
    guide = (ROOT / "docs" / "docker.md").read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.findall(r"docker compose[^\n]* run((?: --?\S+)*) \w", guide)
    assert found
    given = {word for words in found for word in words.split() if word.startswith("--")}
    assert given <= compose_run


def test_the_robot_image_starts_a_launch_file_that_is_there() -> None:
    image = IMAGES["robot"]
    command, *words = words_of(image.last("CMD"))
    assert command == "/opt/embodied_iqa/.venv/bin/ros2", "a sourced ROS comes first on the PATH"
    assert words == ["launch", "embodied_iqa", "trial.launch.py"]
    assert image.last("WORKDIR") == "/opt/embodied_iqa"
    assert (ROOT / "launch" / "trial.launch.py").is_file()
    assert image.copies() == [(["."], ".")]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "runs", "docker/.env"} <= set(ignored)
    assert "docker/.env" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


@pytest.mark.parametrize("name", [item.name for item in entries() if "docker/policies/" in item.server])
def test_catalogue_names_an_image_that_acts_by_its_convention(name: str) -> None:
    """NAME=openpi://SERVICE:8000 reaches the service, and its family gives what the catalogue expects."""
    family = re.search(r"docker/policies/(\w+)", entry(name).server)[1]
    assert family in SERVICES
    reference = parse_reference(f"{name}=openpi://{family}:8000", Role.VLA)
    assert (reference.backend, reference.entry) == (Backend.OPENPI, entry(name))
    if family in HOSTED:
        text = (POLICIES / family / "policy.py").read_text(encoding="utf-8")
        assert f'"{entry(name).convention}"' in text

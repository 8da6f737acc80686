"""The steps of a set-up, each with the hash of what it depends on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.pins import read_pins, replace_pins
from workspace.commands import run_logged
from workspace.environment import drop_half_installed, environment_version, site_packages
from workspace.interfaces import build_interfaces
from workspace.layout import Layout, SetupError
from workspace.prefix import publish
from workspace.ros_source import RosSource, clean_environment
from workspace.stamps import Stamp, hash_inputs

__all__ = ["Step", "steps_for"]

_EVERYWHERE = ("core.txt", "build.txt", "hardware.txt", "dev.txt")
_WHEELS = ("ros.txt", "ros-build.txt")
_PACKAGE = ("setup.py", "setup.cfg", "package.xml", "resource", "launch", "scripts/workspace/prefix.py")
_ALONE = "alone.txt"
_CONSTRAINTS = "constraints.txt"
_SOURCED = "sourced-ros.txt"
_MODELS = "models.txt"
_SCHEMA = "torchvision_schema"

_WITHOUT_DEPENDENCIES = {"opencv-python-headless"}
"""Beside a sourced ROS: asks for NumPy 2, works with 1.26 (what is built against 2 runs on both)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: skipped while its stamp holds the digest of its inputs."""

    title: str
    stamp: Stamp
    digest: str
    act: Callable[[], None]

    def is_current(self) -> bool:
        """Whether there is nothing to do."""
        return self.stamp.is_current(self.digest)

    def perform(self) -> None:
        """Do it; the stamp is written only after success."""
        self.stamp.begin()
        self.act()
        self.stamp.succeed(self.digest)


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step needs to know."""

    layout: Layout
    source: RosSource

    def run(self, what: str) -> Callable[[list[str]], None]:
        environment = clean_environment(os.environ, self.source, self.layout.venv)

        def run(words: list[str]) -> None:
            run_logged(words, log=self.layout.log, environment=environment, cwd=self.layout.root, what=what)

        return run

    def pip(self, what: str, *words: str) -> None:
        pip = [str(self.layout.python), "-m", "pip", "--disable-pip-version-check", "--no-input"]
        self.run(what)([*pip, "install", "--progress-bar", "off", *words])

    def files(self) -> list[Path]:
        folder = self.layout.requirements
        if self.source is RosSource.WHEELS:
            return [folder / name for name in (*_EVERYWHERE, *_WHEELS, _ALONE, _CONSTRAINTS)]
        return [folder / name for name in (*_EVERYWHERE, _ALONE, _SOURCED)]

    def step(self, name: str, title: str, inputs: list[Path], act: Callable[[], None]) -> Step:
        extra = (self.source.value, environment_version(self.layout.venv), str(self.layout.root))
        digest = hash_inputs(self.layout.root, inputs, extra=extra)
        return Step(title, Stamp(self.layout.stamps, name), digest, act)


def _install_requirements(work: _Work) -> None:
    what = "installing the pinned packages"
    drop_half_installed(site_packages(work.layout.venv))
    folder = work.layout.requirements
    if work.source is RosSource.WHEELS:
        files = [word for name in (*_EVERYWHERE, *_WHEELS) for word in ("-r", str(folder / name))]
        work.pip(what, *files, "-c", str(folder / _CONSTRAINTS))
        work.pip(what, "--no-deps", "-r", str(folder / _ALONE))
        return
    pins = [pin for name in _EVERYWHERE for pin in read_pins(folder / name)]
    chosen = replace_pins(pins, read_pins(folder / _SOURCED))
    alone = [pin for pin in chosen if pin.key in _WITHOUT_DEPENDENCIES]
    merged = work.layout.build / "requirements-sourced-ros.txt"
    merged.parent.mkdir(parents=True, exist_ok=True)
    merged.write_text("".join(f"{pin}\n" for pin in chosen if pin not in alone), encoding="utf-8")
    work.pip(what, "-r", str(merged))
    work.pip(what, "--no-deps", *map(str, alone), "-r", str(folder / _ALONE))


def _install_package(work: _Work) -> None:
    root = str(work.layout.root)
    work.pip("installing the package", "--no-deps", "--no-build-isolation", "--editable", root)
    publish(work.layout, work.source)


def _install_models(work: _Work) -> None:
    """Install torch and what goes with it, in one command: their builds have to fit each other."""
    folder = work.layout.requirements
    held = _CONSTRAINTS if work.source is RosSource.WHEELS else _SOURCED
    work.pip("installing the model libraries", "-r", str(folder / _MODELS), "-c", str(folder / held))
    packages = site_packages(work.layout.venv)
    hook, start = packages / f"{_SCHEMA}.py", packages / f"{_SCHEMA}.pth"
    for file in (hook, start):
        file.unlink(missing_ok=True)
    try:
        work.run("trying torchvision")([str(work.layout.python), "-c", "import torchvision"])
    except SetupError:
        shutil.copyfile(work.layout.root / "scripts" / "workspace" / hook.name, hook)
        start.write_text(f"import {_SCHEMA}; {_SCHEMA}.install()\n", encoding="ascii")
        work.run("importing torchvision")([str(work.layout.python), "-c", "import torchvision"])


def steps_for(layout: Layout, source: RosSource, *, models: bool = False) -> list[Step]:
    """The steps after the virtual environment is there, in order; those of large models where asked for."""
    work = _Work(layout, source)
    root = layout.root
    package = [root / name for name in _PACKAGE]
    wheels = [layout.requirements / name for name in _WHEELS] if source is RosSource.WHEELS else []
    files = [layout.requirements / name for name in (_MODELS, _CONSTRAINTS, _SOURCED)]
    large = work.step(
        "models",
        "torch and transformers",
        [*files, root / "scripts" / "workspace" / f"{_SCHEMA}.py"],
        lambda: _install_models(work),
    )
    return [
        work.step("requirements", "pinned packages", work.files(), lambda: _install_requirements(work)),
        work.step("package", "the package itself", package, lambda: _install_package(work)),
        work.step(
            "interfaces",
            "the interface package embodied_iqa_msgs",
            [layout.messages, *wheels],
            lambda: build_interfaces(layout, source, work.run("building the interface package")),
        ),
        *([large] if models else []),
    ]

"""The steps of a set-up, each with the hash of what it depends on."""

from __future__ import annotations

import enum
import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from embodied_iqa.base.pins import Pin, read_pins, replace_pins
from workspace.commands import alone, run_logged, say
from workspace.environment import drop_half_installed, environment_version, site_packages
from workspace.interfaces import build_interfaces
from workspace.layout import Layout, SetupError
from workspace.prefix import publish
from workspace.ros_source import RosSource, clean_environment
from workspace.stamps import Stamp, hash_inputs
from workspace.uv_settings import uv_settings

__all__ = ["Extra", "Step", "steps_for"]

_BUILD = "build.txt"
_CORE = "core.txt"
_EVERYWHERE = (_CORE, _BUILD, "hardware.txt", "dev.txt")
_WHEELS = ("ros.txt", "ros-build.txt")
_PACKAGE = (
    "pyproject.toml",
    "ros/setup.py",
    "ros/setup.cfg",
    "ros/package.xml",
    "ros/pip_backend.py",
    "resource",
    "launch",
    "scripts/workspace/prefix.py",
)
_ALONE = "alone.txt"
_CONSTRAINTS = "constraints.txt"
_SOURCED = "sourced-ros.txt"
_MODELS = "models.txt"
_RAY = "ray.txt"
_SCHEMA = "torchvision_schema"
_GENERATED = "scripts/workspace/interfaces.py"
_BYTECODE = "scripts/workspace/bytecode.py"
_KERNELS = (
    "scripts/workspace/kernels.py",
    "src/embodied_iqa/arm/robot/joining_kernels.py",
    "src/embodied_iqa/base/kinematics",
    "src/embodied_iqa/quality/gate/image_kernels.py",
    "src/embodied_iqa/world/simulation/camera/kernels.py",
)

_WITHOUT_DEPENDENCIES = {"opencv-python-headless"}
"""Beside a sourced ROS: asks for NumPy 2, works with 1.26 (what is built against 2 runs on both)."""


class Extra(enum.Enum):
    """What set-up installs only where it is asked for, by the option of this name."""

    MODELS = "--models"
    CPU = "--cpu"
    """The models with the CPU build of torch."""
    RAY = "--ray"
    BROWSER = "--browser"
    """Chromium, in which tests look at pages: a system package."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: skipped while its stamp holds the digest of its inputs."""

    title: str
    stamp: Stamp
    digest: str
    act: Callable[[], None]
    beside: bool = False
    """Whether the steps after it do not need it: it runs beside them."""

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

    def environment(self) -> dict[str, str]:
        variables = clean_environment(os.environ, self.source, self.layout.venv)
        return {name: value for name, value in variables.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(
        self, what: str, *, log: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> Callable[[list[str]], None]:
        environment = self.environment() | dict(variables or {})

        def run(words: list[str]) -> None:
            log_file = log or self.layout.log
            run_logged(words, log=log_file, environment=environment, cwd=self.layout.root, what=what)

        return run

    def install(self, what: str, *words: str) -> None:
        """Install with uv; beside a sourced ROS with pip, which sees the packages of the system."""
        pip = [str(self.layout.python), "-m", "pip", "--disable-pip-version-check", "--no-input"]
        if self.source is RosSource.SOURCED:
            self.run(what)([*pip, "install", "--progress-bar", "off", *words])
            return
        held = ["-c", str(self.layout.requirements / _CONSTRAINTS)]
        uv = self.layout.python.with_name("uv")
        if not uv.exists():
            (pin,) = (pin for pin in read_pins(self.layout.requirements / _BUILD) if pin.key == "uv")
            self.run("installing uv")([*pip, "install", "--progress-bar", "off", str(pin)])
        listing = subprocess.run(
            [*pip, "config", "list"], env=self.environment(), capture_output=True, text=True, check=False
        )
        variables, options = uv_settings(listing.stdout, os.environ)
        python = ["--python", str(self.layout.python)]
        try:
            self.run(what, variables=variables)([str(uv), "pip", "install", *python, *options, *held, *words])
        except SetupError as error:
            if "must have a hash" in str(error):
                raise SetupError(f"{error}\na pin was changed: run `make constraints`") from error
            raise

    def files(self) -> list[Path]:
        folder = self.layout.requirements
        if self.source is RosSource.WHEELS:
            return [folder / name for name in (*_EVERYWHERE, *_WHEELS, _ALONE, _CONSTRAINTS)]
        return [folder / name for name in (*_EVERYWHERE, _ALONE, _SOURCED)]

    def step(self, name: str, title: str, inputs: list[Path], act: Callable[[], None], *words: str) -> Step:
        extra = (self.source.value, environment_version(self.layout.venv), str(self.layout.root), *words)
        digest = hash_inputs(self.layout.root, inputs, extra=extra)
        return Step(title, Stamp(self.layout.stamps, name), digest, act)


def _files(folder: Path, *names: str) -> list[str]:
    return [word for name in names for word in ("-r", str(folder / name))]


def _install_ros(work: _Work) -> None:
    """Install what the interface package is built with, so that its build runs beside the other downloads."""
    drop_half_installed(site_packages(work.layout.venv))
    folder = work.layout.requirements
    (numpy,) = (pin for pin in read_pins(folder / _CORE) if pin.key == "numpy")
    work.install("installing the ROS wheels", "--require-hashes", *_files(folder, *_WHEELS), str(numpy))


def _install_requirements(work: _Work) -> None:
    what = "installing the pinned packages"
    folder = work.layout.requirements
    if work.source is RosSource.WHEELS:
        work.install(what, "--require-hashes", *_files(folder, *_EVERYWHERE, *_WHEELS))
        work.install(what, "--require-hashes", "--no-deps", *_files(folder, _ALONE))
        return
    drop_half_installed(site_packages(work.layout.venv))
    pins = [pin for name in _EVERYWHERE for pin in read_pins(folder / name)]
    chosen = replace_pins(pins, read_pins(folder / _SOURCED))
    alone = [pin for pin in chosen if pin.key in _WITHOUT_DEPENDENCIES]
    merged = _written(work, "requirements-sourced-ros.txt", [pin for pin in chosen if pin not in alone])
    work.install(what, "-r", merged)
    work.install(what, "--no-deps", *map(str, alone), "-r", str(folder / _ALONE))


def _written(work: _Work, name: str, pins: Collection[Pin]) -> str:
    file = work.layout.build / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{pin}\n" for pin in pins), encoding="utf-8")
    return str(file)


def _install_package(work: _Work) -> None:
    root = str(work.layout.root)
    # An editable build writes into src/, which all environments of the working copy share.
    with alone(work.layout.shared_lock, "waiting for another set-up's build of the package"):
        work.install("installing the package", "--no-deps", "--no-build-isolation", "--editable", root)
    publish(work.layout, work.source)


def _build_interfaces(work: _Work) -> None:
    log = work.layout.build / "interfaces.log"
    log.unlink(missing_ok=True)
    folder = work.layout.requirements
    inputs = [work.layout.messages, *(folder / name for name in _WHEELS), work.layout.root / _GENERATED]
    run = work.run("building the interface package", log=log)
    build_interfaces(work.layout, work.source, run, lambda: hash_inputs(work.layout.root, inputs))


def _require_cpu_build(work: _Work, torch: Pin) -> None:
    try:
        work.install("looking for the CPU build of torch", "--dry-run", "--no-deps", str(torch))
    except SetupError as error:
        version = environment_version(work.layout.venv)
        raise SetupError(
            f"no package index of your pip configuration offers {torch} for Python {version} (log: "
            f"{work.layout.log}); add one that does to it, or run `make models` without CPU=1"
        ) from error


def _install_models(work: _Work, *, cpu: bool) -> None:
    """Install torch and what goes with it, in one command: their builds have to fit each other."""
    folder = work.layout.requirements
    pins = read_pins(folder / _MODELS)
    if cpu:
        pins = [replace(pin, version=f"{pin.version}+cpu") if pin.key == "torch" else pin for pin in pins]
        _require_cpu_build(work, next(pin for pin in pins if pin.key == "torch"))
    held = ["-c", str(folder / _SOURCED)] if work.source is RosSource.SOURCED else []
    work.install("installing the model libraries", "-r", _written(work, _MODELS, pins), *held)
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


def _prepare(work: _Work, what: str, log: Path | None, *words: str) -> None:
    """Run a module of set-up; where it fails, set-up goes on: a process that needs something reports why.

    What runs beside other steps has a log of its own.
    """
    if log is not None:
        log.unlink(missing_ok=True)
    folders = [str(work.layout.root / "scripts"), work.environment().get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    run = work.run(what, log=log, variables=variables)
    try:
        run([str(work.layout.python), "-m", *words])
    except SetupError as error:
        say(f"{str(error).splitlines()[0]}; set-up goes on, processes start more slowly")


def _bytecode(work: _Work, name: str, title: str, inputs: list[Path], *words: str) -> Step:
    """Beside the steps after it, and after those that run beside already."""
    listed, call = work.layout.root / _BYTECODE, ("workspace.bytecode", *words)
    step = work.step(
        name,
        title,
        [*inputs, listed],
        lambda: _prepare(work, "writing bytecode", work.layout.build / f"{name}.log", *call),
        *words,
    )
    return replace(step, beside=True)


def _kernels(work: _Work) -> Step:
    """Needs no interfaces: it runs while these are built."""
    sources = [work.layout.root / name for name in _KERNELS]
    return work.step(
        "kernels",
        "compiled kernels of arm and cameras",
        [*work.files(), *sources],
        lambda: _prepare(work, "compiling the kernels", None, "workspace.kernels"),
    )


def _models(work: _Work, held: Path, *, cpu: bool) -> list[Step]:
    schema = work.layout.root / "scripts" / "workspace" / f"{_SCHEMA}.py"
    inputs = [work.layout.requirements / _MODELS, held, schema]
    build = ["cpu"] if cpu else []
    libraries = work.step(
        "models", "torch and transformers", inputs, lambda: _install_models(work, cpu=cpu), *build
    )
    title = "bytecode of the model libraries"
    return [libraries, _bytecode(work, "bytecode-models", title, inputs, "--models", *build)]


def steps_for(layout: Layout, source: RosSource, extras: Collection[Extra] = ()) -> list[Step]:
    """The steps after the virtual environment is there, in order; the extra ones where asked for."""
    work = _Work(layout, source)
    folder, wheels = layout.requirements, source is RosSource.WHEELS
    held = folder / (_CONSTRAINTS if wheels else _SOURCED)
    ros = [folder / name for name in _WHEELS] if wheels else []
    interfaces = work.step(
        "interfaces",
        "the interface package embodied_iqa_msgs",
        [layout.messages, *ros],
        lambda: _build_interfaces(work),
    )
    steps = [
        work.step("requirements", "pinned packages", work.files(), lambda: _install_requirements(work)),
        work.step(
            "package",
            "the package itself",
            [layout.root / name for name in _PACKAGE],
            lambda: _install_package(work),
        ),
    ]
    if wheels:
        first = work.step("ros", "ROS 2 wheels", [*ros, folder / _CORE, held], lambda: _install_ros(work))
        steps = [first, replace(interfaces, beside=True), *steps]
    else:
        steps.append(interfaces)
    steps.append(_kernels(work))
    steps.append(_bytecode(work, "bytecode", "bytecode of what a trial imports", work.files()))
    cpu = Extra.CPU in extras
    if cpu or Extra.MODELS in extras:
        steps += _models(work, held, cpu=cpu)
    if Extra.RAY in extras:
        steps.append(
            work.step(
                "ray",
                "Ray",
                [folder / _RAY, held],
                lambda: work.install("installing Ray", *_files(folder, _RAY)),
            )
        )
    return steps

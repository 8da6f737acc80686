"""The virtual environment: made, kept or made anew; half-installed packages taken out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from workspace.layout import Layout, SetupError
from workspace.ros_source import RosSource

__all__ = ["drop_half_installed", "environment_version", "fault_of", "make_environment", "site_packages"]

SUPPORTED = ("3.11", "3.12")
"""Python versions that the pins and tests cover."""


def _configuration(venv: Path) -> dict[str, str]:
    try:
        text = (venv / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def environment_version(venv: Path) -> str:
    """The environment's Python version as "3.11", or "" where there is no environment."""
    return ".".join(_configuration(venv).get("version", "").split(".")[:2])


def site_packages(venv: Path) -> Path:
    """Where the environment's packages lie."""
    return venv / "lib" / f"python{environment_version(venv)}" / "site-packages"


def _half_made(venv: Path) -> Path:
    """Marks an environment in the making; outside of it, because it is removed with it."""
    return venv.with_name(f"{venv.name}.begun")


def fault_of(venv: Path, source: RosSource, wanted: str | None) -> str:
    """Why the environment cannot be kept, or "" when it can.

    Args:
        venv: The environment's folder.
        source: Where ROS comes from: with a sourced ROS the environment must see the system's packages.
        wanted: The Python version that was asked for, or None when any supported one will do.
    """
    configuration = _configuration(venv)
    version = environment_version(venv)
    sees_system = configuration.get("include-system-site-packages", "") == "true"
    base = Path(configuration.get("home", "")) / f"python{version}"
    faults = {
        "there is none yet": not configuration,
        "an earlier set-up was interrupted": _half_made(venv).exists(),
        f"its Python {version} is not one of {', '.join(SUPPORTED)}": version not in SUPPORTED,
        f"Python {wanted} was asked for, it has {version}": wanted not in (None, version),
        f"ROS now comes from elsewhere: {source.value}": sees_system != (source is RosSource.SOURCED),
        "the working copy was moved": not configuration.get("command", str(venv)).endswith(str(venv)),
        "its Python is gone": not (base.exists() and (venv / "bin" / "python").exists()),
    }
    return next((reason for reason, applies in faults.items() if applies), "")


def make_environment(
    layout: Layout, source: RosSource, run: Callable[[list[str]], None], *, explicit: bool
) -> None:
    """Keep a fitting environment, or make one with the running interpreter.

    Args:
        layout: The working copy.
        source: Where ROS comes from.
        run: Runs a command.
        explicit: The user named the interpreter: the environment must have its version.
    """
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if not fault_of(layout.venv, source, version if explicit else None):
        return
    if layout.venv.exists() and not (layout.venv / "pyvenv.cfg").exists() and any(layout.venv.iterdir()):
        raise SetupError(f"{layout.venv} exists and is not a virtual environment: move it away")
    _half_made(layout.venv).touch()
    shutil.rmtree(layout.venv, ignore_errors=True)
    words = [sys.executable, "-m", "venv"]
    if source is RosSource.SOURCED:
        words.append("--system-site-packages")
    run([*words, str(layout.venv)])
    _half_made(layout.venv).unlink()


def drop_half_installed(folder: Path) -> list[str]:
    """Remove the metadata of packages whose installation was cut short, so that they are installed again.

    uv and pip write INSTALLER and then the final RECORD, which lists it, as their last acts; without these
    files they would still take the package for installed.

    Returns:
        The names of the metadata folders that were removed.
    """
    dropped = []
    for metadata in sorted(folder.glob("*.dist-info")):
        record = metadata / "RECORD"
        if record.is_file() and f"{metadata.name}/INSTALLER" in record.read_text(encoding="utf-8"):
            continue
        shutil.rmtree(metadata)
        dropped.append(metadata.name)
    # pip renames what it is about to replace to "~name": leftovers of an interrupted upgrade.
    for leftover in folder.glob("~*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return dropped

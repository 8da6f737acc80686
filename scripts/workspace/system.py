"""System libraries and build tools: found, installed through apt, or named."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workspace.commands import run_logged
from workspace.layout import Layout, SetupError

__all__ = [
    "BROWSER",
    "NEEDS",
    "Need",
    "apt_prefix",
    "browser_command",
    "browser_is_settled",
    "in_ci",
    "missing_needs",
    "provide",
    "provide_browser",
]


@dataclass(frozen=True, slots=True)
class Need:
    """One Debian package and the test that shows it is there."""

    package: str
    present: Callable[[], bool]
    builds: bool
    """Set-up itself cannot go on without it; otherwise only a part of the product is missing."""


def _loads(*names: str) -> Callable[[], bool]:
    def present() -> bool:
        for name in names:
            try:
                ctypes.CDLL(name)
            except OSError:
                continue
            return True
        return False

    return present


def _command(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _has_gl_driver() -> bool:
    places = ("usr/lib/*", "usr/lib", "usr/lib64")
    mesa = any(any(Path("/").glob(f"{place}/dri/*_dri.so")) for place in places)
    return mesa or _loads("libEGL_nvidia.so.0")()


def _has_venv() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("venv", "ensurepip"))


NEEDS = (
    Need(f"python3.{sys.version_info[1]}-venv", _has_venv, builds=True),
    Need("cmake", _command("cmake"), builds=True),
    Need("g++", _command("g++", "c++"), builds=True),
    Need("make", _command("make", "gmake"), builds=True),
    Need("libegl1", _loads("libEGL.so.1"), builds=False),
    Need("libgl1-mesa-dri", _has_gl_driver, builds=False),
    Need("libusb-1.0-0", _loads("libusb-1.0.so.0"), builds=False),
)
"""What a Debian or Ubuntu system must have: build tools, offscreen rendering, the RealSense's USB."""

BROWSER = Need("chromium", _command("chromium", "chromium-browser", "google-chrome"), builds=False)
"""What tests of pages need besides; Ubuntu offers it as a snap only."""


def in_ci() -> bool:
    """Whether this is continuous integration, where nothing may be missing."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def browser_command(os_release: Path = Path("/etc/os-release")) -> str:
    """The command with which an administrator installs a browser."""
    text = os_release.read_text(encoding="utf-8") if os_release.is_file() else ""
    is_ubuntu = any(line in {"ID=ubuntu", 'ID="ubuntu"'} for line in text.splitlines())
    return "sudo snap install chromium" if is_ubuntu else "sudo apt-get install chromium"


def browser_is_settled(layout: Layout, need: Need = BROWSER) -> bool:
    """Whether the browser is there, or an earlier set-up may not install one; that is never so in CI."""
    return need.present() or (_no_browser(layout).exists() and not in_ci())


def _no_browser(layout: Layout) -> Path:
    return layout.build / "no-browser.txt"


def missing_needs(needs: Sequence[Need] = NEEDS) -> list[Need]:
    """The needs that are not met."""
    return [need for need in needs if not need.present()]


def apt_prefix() -> list[str] | None:
    """Words to put before apt-get so that it may install, or None where it cannot be used without asking."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def _install(packages: Sequence[str], prefix: Sequence[str], layout: Layout) -> None:
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        run_logged(
            [*apt, *words],
            log=layout.log,
            environment=os.environ,
            cwd=layout.root,
            what="installing " + ", ".join(packages),
        )


def provide(layout: Layout, say: Callable[[str], None]) -> None:
    """Install what is missing where that needs no password; else name it in one line.

    Raises:
        SetupError: Something that set-up itself needs is missing and cannot be installed from here.
    """
    missing = missing_needs()
    if not missing:
        return
    prefix = apt_prefix()
    names = " ".join(need.package for need in missing)
    advice = f"missing system packages, to be installed by an administrator: sudo apt-get install {names}"
    if prefix is None:
        if any(need.builds for need in missing):
            raise SetupError(advice)
        say(advice)
        return
    say(f"installing system packages: {names}")
    _install([need.package for need in missing], prefix, layout)
    importlib.invalidate_caches()
    still = [need.package for need in missing_needs(missing) if need.builds]
    if still:
        raise SetupError(f"apt-get installed {' '.join(still)}, but they still cannot be used")


def provide_browser(layout: Layout, say: Callable[[str], None], need: Need = BROWSER) -> None:
    """Install a browser where that needs no password; else say how others can, and set-up goes on.

    Only where nothing can be installed is it left alone from then on: a failure may pass until the next time.
    """
    if need.present():
        return
    prefix = apt_prefix()
    why = "apt-get may not install here"
    if prefix is None:
        layout.build.mkdir(parents=True, exist_ok=True)
        _no_browser(layout).write_text(f"{why}\n", encoding="utf-8")
    else:
        say(f"installing system packages: {need.package}")
        why = "apt-get installed none that is found"
        try:
            _install([need.package], prefix, layout)
        except SetupError as error:
            why = str(error).splitlines()[0]
    if not need.present():
        say(f"no browser, and {why}: tests of pages are skipped until somebody runs {browser_command()}")

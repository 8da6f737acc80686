"""Writes requirements/constraints.txt: the pinned sets and what they pull in, with the hashes of their files.

The versions that the file already holds stay where the pins allow it; delete the file to renew them all. The
lock is read from the default package index alone: further indexes may hold only some of a version's files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import parse_wheel_filename

from embodied_iqa.base.pins import read_pins
from workspace.uv_settings import uv_settings

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
FILE = FOLDER / "constraints.txt"
ALONE = FOLDER / "alone.txt"
SETS = sorted(
    set(FOLDER.glob("*.txt")) - {FILE, ALONE, FOLDER / "sourced-ros.txt", FOLDER / "bench-peers.txt"}
)
HEADER = """\
# The pinned sets and what they pull in; hashes of the files for Python 3.11 and 3.12 on Linux x86-64.
# torch and what comes with it are left out: each package index has a build of its own. By `make constraints`.
"""
TORCH = ("torch", "torchvision", "triton")
CUDA = ("nvidia-", "cuda-")


def compiled(folder: Path, *words: str) -> list[dict[str, Any]]:
    """The packages of a universal resolution, as in pylock.toml.

    Raises:
        CalledProcessError: The pins cannot be met together; uv has said why.
    """
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    variables, options = uv_settings(listing.stdout, os.environ)
    environment = os.environ | {
        key: value for key, value in variables.items() if key not in {"UV_INDEX", "UV_FIND_LINKS"}
    }
    lock = folder / "pylock.toml"
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--no-header"]
    subprocess.run(
        [*command, *options, *words, "--format", "pylock.toml", "-o", str(lock)], env=environment, check=True
    )
    packages: list[dict[str, Any]] = tomllib.loads(lock.read_text(encoding="utf-8"))["packages"]
    lock.unlink()
    return packages


def fits(wheel: str) -> bool:
    """Whether a wheel is for a supported Python on Linux x86-64 (or any system)."""
    return any(
        (tag.platform == "any" or ("linux" in tag.platform and tag.platform.endswith("x86_64")))
        and "musl" not in tag.platform
        and (tag.interpreter in {"cp311", "cp312"} or tag.abi in {"abi3", "none"})
        for tag in parse_wheel_filename(wheel)[3]
    )


def hashes(package: dict[str, Any]) -> Iterator[str]:
    """The SHA-256 of every wheel that fits, and of the source distribution."""
    for wheel in package.get("wheels", ()):
        if fits(wheel.get("name") or wheel["url"].rpartition("/")[2]):
            yield wheel["hashes"]["sha256"]
    if "sdist" in package:
        yield package["sdist"]["hashes"]["sha256"]


def line_of(package: dict[str, Any]) -> str:
    """A line as pip and uv read it."""
    words = [
        f"{package['name']}=={package['version']}",
        *(f"--hash=sha256:{digest}" for digest in hashes(package)),
    ]
    return " ".join(words) + "\n"


def wanted(package: dict[str, Any]) -> bool:
    """Whether the package is the same in every index and for a supported system."""
    other_system = "sys_platform == 'emscripten'" in package.get("marker", "")
    return not (other_system or package["name"] in TORCH or package["name"].startswith(CUDA))


def main() -> None:
    """Write the file whole or not at all."""
    direct = {pin.key for file in (*SETS, ALONE) for pin in read_pins(file)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        held = folder / "held.txt"
        known = read_pins(FILE) if FILE.exists() else []
        held.write_text("".join(f"{pin}\n" for pin in known if pin.key not in direct), encoding="utf-8")
        sets = [str(file) for file in SETS]
        try:
            packages = compiled(folder, *sets, "-c", str(held))
        except subprocess.CalledProcessError:
            print("these versions cannot stay; renewing all", file=sys.stderr)
            packages = compiled(folder, *sets)
        packages += compiled(folder, "--no-deps", str(ALONE))
    lines = {package["name"]: line_of(package) for package in packages if wanted(package)}
    fresh = FILE.with_suffix(".new")
    fresh.write_text(HEADER + "".join(lines[key] for key in sorted(lines)), encoding="utf-8")
    fresh.replace(FILE)
    print(f"{FILE.name}: {len(lines)} packages")


if __name__ == "__main__":
    main()

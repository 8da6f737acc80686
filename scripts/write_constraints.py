"""Writes requirements/constraints.txt: what the pinned sets pulled into this environment, at its versions."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from embodied_iqa.pins import Pin, read_pins

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
FILE = FOLDER / "constraints.txt"
HEADER = "# What the pinned sets pull in, held at the versions that the tests ran with (make constraints).\n"


def needs_of(name: str, extras: str) -> Iterator[tuple[str, str]]:
    """What an installed distribution needs here: name and extras ("a,b") of each need."""
    for line in distribution(name).requires or ():
        need = Requirement(line)
        chosen = [extra for extra in extras.split(",") if extra] or [""]
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in chosen):
            yield need.name, ",".join(sorted(need.extras))


def pulled_in(pins: list[Pin]) -> dict[str, str]:
    """Everything that the pins need, and that in turn: names as indexes compare them to versions."""
    found: dict[str, str] = {}
    waiting = [(pin.name, pin.extras.strip("[]")) for pin in pins]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        key = Pin(name, "", "").key
        if (key, extras) in seen:
            continue
        seen.add((key, extras))
        try:
            found[key] = distribution(name).version
        except PackageNotFoundError:
            continue  # for another Python or system
        waiting += needs_of(name, extras)
    return found


def main() -> None:
    """Write the file whole or not at all."""
    pins = [pin for file in FOLDER.glob("*.txt") if file != FILE for pin in read_pins(file)]
    direct = {pin.key for pin in pins}
    pulled = {key: version for key, version in pulled_in(pins).items() if key not in direct}
    fresh = FILE.with_suffix(".new")
    fresh.write_text(HEADER + "".join(f"{key}=={pulled[key]}\n" for key in sorted(pulled)), encoding="utf-8")
    fresh.replace(FILE)
    print(f"{FILE.name}: {len(pulled)} packages")


if __name__ == "__main__":
    main()

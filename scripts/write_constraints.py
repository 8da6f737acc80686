"""Writes requirements/constraints.txt: what the pinned sets pulled into this environment, at its versions."""

from importlib.metadata import distributions
from pathlib import Path

from embodied_iqa.pins import Pin, read_pins

HEADER = "# What the pinned sets pull in, held at the versions that the tests ran with (make constraints).\n"
NEVER = {"embodied-iqa", "pip"}


def main() -> None:
    """Write the file whole or not at all."""
    folder = Path(__file__).resolve().parents[1] / "requirements"
    file = folder / "constraints.txt"
    direct = {pin.key for other in folder.glob("*.txt") if other != file for pin in read_pins(other)}
    # Message packages also bring metadata of their own, without an installer: those are no distributions.
    installed = [
        Pin(item.metadata["Name"], "", item.version)
        for item in distributions()
        if (item.read_text("INSTALLER") or "").strip() == "pip"
    ]
    pulled = {pin.key: pin.version for pin in installed if pin.key not in direct | NEVER}
    fresh = file.with_suffix(".new")
    fresh.write_text(HEADER + "".join(f"{key}=={pulled[key]}\n" for key in sorted(pulled)), encoding="utf-8")
    fresh.replace(file)
    print(f"{file.name}: {len(pulled)} packages")


if __name__ == "__main__":
    main()

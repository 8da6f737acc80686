"""Puts trained members of the panel into the package: networks, cards, catalogue entries, constants.

python scripts/ship_panel.py DIR/models            # of `embodied-iqa train panel --out DIR`
python scripts/ship_panel.py DIR/models --replace  # and drop shipped members that are not there

Then `embodied-iqa evaluate panel --models-dir src/embodied_iqa/models/subjects/backends/panel/models
--scenes 100 --cards --out docs/results/details/panel.md` measures what ships.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from embodied_iqa.models.panel.panel_members import members_in
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS, card_of
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.model_card import ModelCard

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "embodied_iqa" / "models" / "subjects"
TABLE = PACKAGE / "catalogue" / "panel.yaml"
HEAD = """\
# The embedded panel, written by scripts/ship_panel.py from the members' cards.
backend: embedded
licence: Apache-2.0
simulation_only: true
---
"""


def main() -> int:
    """Copy, list and calibrate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, help="folder of networks and cards")
    parser.add_argument("--replace", action="store_true", help="drop shipped members that are not there")
    parser.add_argument("--scenes", type=int, default=80, help="for the constants (default: 80)")
    parser.add_argument("--workers", type=int, default=2, help="constants at once (default: 2)")
    arguments = parser.parse_args()
    names = members_in(arguments.models)
    if arguments.replace:
        for name in members_in():
            constants_of(name).unlink(missing_ok=True)
        for path in MODELS.iterdir():
            path.unlink()
    MODELS.mkdir(exist_ok=True)
    for name in names:
        for end in (".onnx", ".json"):
            shutil.copyfile(arguments.models / f"{name}{end}", MODELS / f"{name}{end}")
    TABLE.write_text(HEAD + "".join(entry(card_of(name)) for name in members_in()), encoding="utf-8")
    with ThreadPoolExecutor(arguments.workers) as pool:
        list(pool.map(partial(calibrate, arguments.scenes), names))
    return 0


def calibrate(scenes: int, name: str) -> None:
    """Measure a member's constants in a process of its own."""
    words = ["subjects", "calibrate", name, "--scenes", str(scenes), "--out", str(constants_of(name))]
    subprocess.run([sys.executable, "-m", "embodied_iqa.cli.main", *words], check=True)


def constants_of(name: str) -> Path:
    """Return the file of a member's constants."""
    return PACKAGE / "constants" / f"{name}.json"


def entry(card: ModelCard) -> str:
    """One subject of the catalogue."""
    short = card.name.removeprefix("panel-")
    kind = "convention: increments" if card.role is Role.VLA else "prompt: plain"
    return (
        f"- name: {card.name}\n"
        f"  label: Panel {short[:3].upper()} {short[4:]}\n"
        f"  role: {card.role}\n"
        f"  views: [{', '.join(card.views)}]\n"
        f"  {kind}\n"
        f"  parameters_m: {int(card.network['parameters']) / 1e6:.2f}\n"
        f"  factory: embodied_iqa.models.subjects.backends.panel.shipped_members:make_{card.role}\n"
        f'  note: "Learned. {card.summary}"\n'
    )


if __name__ == "__main__":
    sys.exit(main())

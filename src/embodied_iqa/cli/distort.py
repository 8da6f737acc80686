"""`embodied-iqa distort`: distorts pictures; lists, calibrates, draws the distortions; trains the denoiser.

The first word says what to do: `list`, `calibrate`, `sheet`, `train-denoiser`, or else it is the input.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Final

from embodied_iqa.errors import UsageError

__all__ = ["configure", "run"]

PICTURES: Final = "pictures"
WORDS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "list": ("embodied_iqa.cli.distort_list", frozenset({"json"})),
    "calibrate": ("embodied_iqa.cli.distort_calibrate", frozenset({"out", "steps", "references", "json"})),
    "sheet": ("embodied_iqa.cli.distort_sheet", frozenset({"out", "reference", "seed", "all_miqd"})),
    "train-denoiser": (
        "embodied_iqa.cli.distort_train",
        frozenset({"out", "steps", "seed", "references"}),
    ),
    PICTURES: (
        "embodied_iqa.cli.distort_pictures",
        frozenset(
            {"type", "all", "all_miqd", "levels", "region", "inside", "outside", "seed", "workers", "out"}
            | {"format", "json"}
        ),
    ),
}
"""What the first word may be: the module that does it and the options that it understands."""

EPILOG: Final = """what else the first word can be:
  list              every distortion with its parameters and where they come from   [--json]
  calibrate         find the parameters that make levels cost the same   [--out --steps --references --json]
  sheet             draw every distortion at every level; --out X.png, or a folder for a sheet
                    for each class   [--out --reference --seed --all-miqd]
  train-denoiser    train the network of distortion 17   [--out --steps --seed --references]

examples:
  embodied-iqa distort IN.png --type 15:4 --seed 3 --out DIR
  embodied-iqa distort FOLDER --all --levels 1,3,5 --workers 2 --out DIR
  embodied-iqa distort IN.png --type miqd:fog --region roi.png --inside 4 --outside 1 --out DIR
  embodied-iqa distort runs/X/trial.mcap --type 10:5 --out DIR
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument(
        "input",
        metavar="IN",
        help="a picture, a folder of pictures, a recording (.mcap), or one of the words below",
    )
    add = parser.add_argument
    add("--type", action="append", metavar="T[:L]", help="such as 15:4, motion-blur, miqd:fog:2; repeatable")
    add("--all", action="store_true", help="all 30 types")
    add("--all-miqd", action="store_true", help="all 10 machine-vision types (sheet: these instead)")
    add(
        "--levels",
        metavar="L,L|random",
        help="levels where a type names none; random: one a picture and type",
    )
    add("--region", type=Path, metavar="MASK", help="picture of the region, white inside")
    add("--inside", type=int, metavar="L", help="level inside of the region")
    add("--outside", type=int, metavar="L", help="level outside of it")
    add("--seed", type=int, metavar="N", help="seed of everything random (default 0)")
    add("--workers", type=int, metavar="N", help="processes (default: one for each processor)")
    add("--out", type=Path, metavar="PATH", help="where to write")
    add("--format", choices=("png", "webp"), help="lossless format of the pictures (default png)")
    add("--steps", type=int, metavar="N", help="points of a calibration curve, or updates in training")
    add("--reference", type=Path, metavar="FILE", help="the picture to draw the sheet from")
    add("--references", type=Path, metavar="DIR", help="pictures to calibrate on or learn from")
    add("--json", action="store_true", help="answer in JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what the first word says."""
    word = arguments.input if arguments.input in WORDS else PICTURES
    module, understood = WORDS[word]
    given = set(vars(arguments)) - {"input"}
    strange = sorted(f"--{name.replace('_', '-')}" for name in given - understood)
    if strange:
        available = sorted(f"--{name.replace('_', '-')}" for name in understood)
        what = "pictures" if word == PICTURES else word
        raise UsageError(f"an option that does not go with {what}", got=strange[0], available=available)
    done: int = importlib.import_module(module).run(arguments)
    return done

"""The gate alone in a fresh environment: megabytes, and milliseconds of `import` beside an empty Python.

python benchmarks/bench_gate_install.py --json build/bench_gate_install.json
python benchmarks/bench_gate_install.py --environment DIR     # one that was made before

Makes the wheel of this checkout, and installs it with the extra `gate` by pip.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine_state import machine_state

from embodied_iqa.base.files import write_text_whole

_ROOT = Path(__file__).resolve().parents[1]
_INSTALLERS = ("pip", "setuptools", "_distutils", "pkg_resources")
_IMPORT = "from embodied_iqa import Gate"


def make(environment: Path) -> None:
    """Make the environment."""
    python = str(environment / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        words = [python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(_ROOT)]
        subprocess.run(words, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[gate]"], check=True)


def megabytes(environment: Path) -> dict[str, float]:
    """Return the sizes of the largest packages and of all but pip and setuptools, in MB.

    They count the bytes of all files; `bytecode` is the part that Python compiled.
    """
    (packages,) = environment.glob("lib/python*/site-packages")
    sizes = {
        folder.name: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
        for folder in packages.iterdir()
        if folder.is_dir() and not folder.name.startswith(_INSTALLERS)
    }
    bytecode = sum(file.stat().st_size for name in sizes for file in (packages / name).rglob("*.pyc"))
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    whole = {"all": round(sum(sizes.values()), 1), "bytecode": round(bytecode / 1e6, 1)}
    return whole | {name: round(size, 1) for name, size in largest}


def import_ms(environment: Path, repeats: int) -> dict[str, float]:
    """Return the time of a Python that imports the gate, of one that does nothing, and the rest.

    That of the processor is lengthened less by other programs.
    """
    python = str(environment / "bin" / "python")
    times: dict[str, list[float]] = {"import": [], "empty": []}
    worked: dict[str, list[float]] = {"import": [], "empty": []}
    for _ in range(repeats + 1):
        for name, program in (("import", _IMPORT), ("empty", "pass")):
            began, before = time.perf_counter(), _worked_s()
            subprocess.run([python, "-c", program], check=True)
            times[name].append(1e3 * (time.perf_counter() - began))
            worked[name].append(1e3 * (_worked_s() - before))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    found = {f"{name}, median": value for name, value in medians.items()}
    found |= {"import, least": min(times["import"][1:]), "added": medians["import"] - medians["empty"]}
    found |= {f"{name}, of the processor": statistics.median(values[1:]) for name, values in worked.items()}
    return {name: round(value, 1) for name, value in found.items()}


def _worked_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", type=Path, metavar="DIR", help="default: a fresh one")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = arguments.environment or Path(folder) / "environment"
        if not environment.exists():
            make(environment)
        results = {
            "machine": machine_state(),
            "megabytes": megabytes(environment),
            "milliseconds": import_ms(environment, arguments.repeats),
        }
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.json:
        write_text_whole(arguments.json, text + "\n")


if __name__ == "__main__":
    main()

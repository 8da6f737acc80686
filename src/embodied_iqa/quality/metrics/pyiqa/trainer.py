"""Fine-tunes a metric with pyiqa's own trainer; runs in its environment and imports nothing of this package.

python trainer.py FOLDER NAME WEIGHTS

WEIGHTS is a file or empty. Completes FOLDER/options.json with the network of the metric NAME and its kind of
data set, writes FOLDER/options.yml and trains. Checkpoints and the log go to FOLDER/experiments.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any, Final

_KINDS: Final = {"FR": ("GeneralFRDataset", "meta_fr.csv"), "NR": ("GeneralNRDataset", "meta_nr.csv")}


def _worker() -> Any:
    """Return the module worker.py, which stands beside this script."""
    return importlib.import_module("worker")


def _network(name: str, weights: str) -> tuple[str, dict[str, Any]]:
    """Return the mode of a metric, FR or NR, and the options of its network."""
    configs = importlib.import_module("pyiqa.default_model_configs").DEFAULT_CONFIGS
    if name not in configs:
        raise ValueError(f"pyiqa has no metric {name}")
    network = dict(configs[name]["metric_opts"])
    network |= _worker().options_of(name, weights) or {"pretrained": None}
    return configs[name]["metric_mode"], network


def main() -> None:
    """Write the options and train."""
    folder, name, weights = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    _worker().stay_offline()
    mode, network = _network(name, weights)
    kind, meta = _KINDS[mode]
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    options["network"] = network
    for part in options["datasets"].values():
        part |= {"type": kind, "meta_info_file": str(folder / meta)}
    file = folder / "options.yml"
    file.write_text(importlib.import_module("yaml").safe_dump(options, sort_keys=False), encoding="utf-8")
    sys.argv[1:] = ["-opt", str(file)]
    importlib.import_module("pyiqa.train").train_pipeline(str(folder))


if __name__ == "__main__":
    main()

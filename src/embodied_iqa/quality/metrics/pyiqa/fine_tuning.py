"""Fine-tuning of pyiqa's metrics on an export of a database, with pyiqa's own trainer in its environment."""

from __future__ import annotations

import csv
import math
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import require_empty, write_json_whole
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.quality.metrics.pyiqa.environment import environment, pyiqa_python

_TRAINER: Final = Path(__file__).with_name("trainer.py")
_NAME: Final = "fine-tuning"
_VALIDATION: Final = 0.2
"""Share of the training references on which the best checkpoint is chosen."""
_HIGHEST_OPINION: Final = 5
_META: Final = {"fr": ("ref_name", "dist_name", "mos"), "nr": ("dist_name", "mos")}


@dataclass(frozen=True, slots=True)
class FineTuning:
    """What to train on, and how.

    Attributes:
        export: Folder of ``embodied-iqa export --format pyiqa``.
        target: Score to predict.
        split: Split by reference, 0 to 9.
        epochs: Passes over the images.
        learning_rate: Of AdamW.
        batch: Images a step.
        crop_px: Side of the random crops that are trained on.
        seed: Of everything random.
        gpus: GPUs; 0 trains on the processor.
    """

    export: Path
    target: str = "decision"
    split: int = ranged(0, 0, 9)
    epochs: int = ranged(50, 1, 100_000)
    learning_rate: float = 1e-5
    batch: int = ranged(8, 1, 65_536)
    crop_px: int = 384
    seed: int = 0
    gpus: int = 0


def fine_tune(
    name: str, plan: FineTuning, out: Path, weights: Path | None, on_line: Callable[[str], None]
) -> Path:
    """Train a metric of pyiqa; return the file of its best weights, for ``pyiqa:NAME@FILE``.

    The held-out references of the split are not seen: the best checkpoint is chosen on a fifth of the
    training references, which are not trained on.

    Args:
        name: Name in pyiqa, such as ``"cnniqa"``.
        plan: What to train on, and how.
        out: New or empty folder.
        weights: File of weights to begin with; None for random ones.
        on_line: Called with each line of the trainer's log.

    Raises:
        UserError: The export or the environment is missing, ``out`` is not empty, or the trainer fails.
    """
    python = pyiqa_python()
    require_empty(out)
    rows = _rows(plan)
    with JobFolder(out, "fine-tuning of a metric", resumes=False).locked():
        write_json_whole(out / "options.json", _options(plan, sum(row["split"] == "train" for row in rows)))
        for kind, columns in _META.items():
            _write_meta(out.resolve() / f"meta_{kind}.csv", columns, rows)
        command = [str(python), str(_TRAINER), str(out.resolve()), name]
        _run([*command, "" if weights is None else str(weights.resolve())], name, on_line)
    models = out / "experiments" / _NAME / "models"
    found = [models / f"{file}.pth" for file in ("net_best", "net_latest")]
    best = next((file for file in found if file.is_file()), None)
    if best is None:
        raise InputError(f"the trainer of pyiqa wrote no weights to {models}")
    return best


def _rows(plan: FineTuning) -> list[dict[str, str]]:
    """Return the rows of the export's meta file with their part in ``split``: train, val or test.

    Raises:
        InputError: No such file, split or image to train on.
    """
    file = plan.export / f"meta_info_{plan.target}_fr.csv"
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as error:
        expected = "a folder of `embodied-iqa export DB --format pyiqa`, and a target of it"
        raise InputError(f"{file} cannot be read: {error.strerror}", expected=expected) from error
    column = f"split_seed{plan.split}"
    if not rows or column not in rows[0]:
        raise InputError(f"{file} has no column {column}")
    training = sorted({row["ref_name"] for row in rows if row[column] == "train"})
    if len(training) < 2:
        raise InputError(f"{file} has {len(training)} training references", expected="at least 2")
    chosen = random.Random(plan.seed).sample(training, max(1, round(_VALIDATION * len(training))))
    for row in rows:
        held_out = row[column] != "train"
        row["split"] = "test" if held_out else "val" if row["ref_name"] in chosen else "train"
    return rows


def _write_meta(file: Path, columns: Sequence[str], rows: Sequence[dict[str, str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*columns, "split"])
        writer.writerows([row[column] for column in (*columns, "split")] for row in rows)


def _options(plan: FineTuning, images: int) -> dict[str, Any]:
    """Return the options of pyiqa's trainer, without the network and the kind of data set."""
    export = plan.export.resolve()
    data = {
        "name": plan.target,
        "dataroot_target": str(export / "images" / "pairs"),
        "dataroot_ref": str(export / "images" / "references"),
        "split_index": "split",
        "mos_range": [0, _HIGHEST_OPINION],
        "lower_better": False,
        "mos_normalize": True,
        "img_range": 1,
        "num_worker_per_gpu": 0,
    }
    training = {
        "augment": {"hflip": True, "random_crop": plan.crop_px},
        "use_shuffle": True,
        "batch_size_per_gpu": plan.batch,
        "dataset_enlarge_ratio": 1,
    }
    metrics = {name: {"type": f"calculate_{name}"} for name in ("srcc", "plcc", "krcc")}
    return {
        "name": _NAME,
        "model_type": "GeneralIQAModel",
        "num_gpu": plan.gpus,
        "manual_seed": plan.seed,
        "datasets": {"train": data | training, "val": data | {"batch_size_per_gpu": 1}},
        "path": {"pretrain_network": None, "strict_load": True, "resume_state": None},
        "train": {
            "optim": {"type": "AdamW", "lr": plan.learning_rate},
            "scheduler": {"type": "MultiStepLR", "milestones": [plan.epochs + 1], "gamma": 1.0},
            "total_epoch": plan.epochs,
            "warmup_iter": -1,
            "mos_loss_opt": {"type": "MSELoss", "loss_weight": 1.0},
        },
        "val": {
            "val_freq": math.ceil(images / plan.batch),
            "save_img": False,
            "pbar": False,
            "key_metric": "srcc",
            "metrics": metrics,
        },
        "logger": {
            "print_freq": 20,
            "save_checkpoint_freq": 1_000_000_000,
            "save_latest_freq": 1_000_000_000,
            "use_tb_logger": False,
        },
    }


def _run(command: Sequence[str], name: str, on_line: Callable[[str], None]) -> None:
    """Run the trainer; it ends with this process, also when that is interrupted.

    Raises:
        InputError: It fails.
    """
    last = ""
    with subprocess.Popen(  # noqa: S603 - the user names the environment
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            for line in process.stdout or ():
                if line.strip():
                    last = line.strip()
                    on_line(last)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise InputError(f"the trainer of pyiqa:{name} failed: {last}")

"""Runs of pytest in forked children: the libraries are imported once, the package anew in every child."""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numba
import pytest

from mutants.plugin import Recorder

LIBRARIES = (
    "numpy.testing", "cv2", "scipy.spatial.transform", "scipy.ndimage", "scipy.stats", "scipy.optimize",
    "scipy.signal", "numba", "pandas", "pyarrow.parquet", "pyarrow.compute", "pyarrow.dataset",
    "duckdb", "mcap.reader", "mcap.writer", "mcap_ros2.decoder", "rosbags.typesys", "mujoco",
    "PIL.Image", "skimage.data", "skimage.metrics", "onnxruntime", "yaml", "msgpack",
    "hypothesis.strategies", "hypothesis.extra.numpy", "sacrebleu", "rouge_score.rouge_scorer",
    "ruckig", "rtde_control", "rtde_receive", "rtde_io", "dashboard_client", "jinja2", "zstandard",
    "lz4.frame", "multiprocessing.pool", "tqdm", "concurrent.futures.process",
)  # fmt: skip
"""What the tests import besides the package."""


CHILD_LOG = ".mutant-child.log"
"""What pytest printed in the latest child, in the copy of the tree."""


def preload() -> None:
    """Import the libraries of the tests; one that is not installed is the tests' own matter."""
    for name in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    os.environ["MUJOCO_GL"] = "egl"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for library in LIBRARIES:
            try:
                importlib.import_module(library)
            except ImportError:
                continue
    gc.freeze()  # pytest collects garbage in every child


def in_child(work: Callable[[], object], folder: Path, limit_s: float) -> object | None:
    """Run ``work`` in a forked child inside ``folder`` and return what it returns (JSON).

    Returns:
        The result, or None if the child passed ``limit_s`` or died; its process group is ended either way.
    """
    answer = folder / ".mutant-answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _be_child(work, folder, answer)
    handle = os.pidfd_open(child)
    try:
        select.select([handle], [], [], limit_s)
    finally:
        os.close(handle)
        _end_group(child)
        os.waitpid(child, 0)
    return json.loads(answer.read_text()) if answer.is_file() else None


def _end_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it had not made its group yet
        os.kill(child, signal.SIGKILL)


def _be_child(work: Callable[[], object], folder: Path, answer: Path) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        log = os.open(folder / CHILD_LOG, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(log, stream)
        paths = [str(folder / "src"), str(folder / "scripts")]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.environ["EMBODIED_IQA_FUZZ_CHUNKS"] = "2000"
        sys.dont_write_bytecode = True
        sys.path[:0] = paths
        whole = answer.with_suffix(".part")
        whole.write_text(json.dumps(work()))
        whole.replace(answer)
        code = 0
    except BaseException:  # noqa: BLE001 - the child ends here; its log says why
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def interpret_kernels() -> None:
    """Make numba leave functions as they are, in this process and in those that it starts."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    numba.config.DISABLE_JIT = 1


def run_pytest(tests: Sequence[str], recorder: Recorder, *, stop: bool) -> int:
    """Run tests in this process; ``stop`` ends at the first failure. Returns pytest's exit code."""
    options = [
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:anyio",
        "--tb=line",
    ]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is there already
    return int(pytest.main([*options, *(["-x"] if stop else []), *tests], plugins=[recorder]))

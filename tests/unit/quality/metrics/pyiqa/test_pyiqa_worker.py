"""The worker that measures with pyiqa: with a stand-in for pyiqa, and with pyiqa where it is installed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base import worker_process
from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError
from embodied_iqa.base.worker_process import WorkerProcess
from embodied_iqa.quality.metrics import BUILT_IN, Needs
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name, metric_names
from embodied_iqa.quality.metrics.pyiqa.environment import VARIABLE, pyiqa_python
from embodied_iqa.quality.metrics.pyiqa.zero_shot import PyiqaMetric

RNG = np.random.default_rng(4)
FIRST, SECOND = (RNG.integers(0, 256, (48, 56, 3), dtype=np.uint8) for _ in range(2))

STAND_IN = """
import os, socket, sys
import numpy as np

class Value(float):
    def reshape(self, _):
        return [self]

class Metric:
    lower_better = True

    def __init__(self, name, pretrained_model_path=""):
        self.metric_mode = {"alone": "NR", "folder": "FID"}.get(name, "FR")
        print("a line that is not part of the protocol")
        if name == "missing":
            raise KeyError("no metric of this name")
        if name == "download":
            socket.create_connection(("192.0.2.1", 80), 1)
        self.name, self.weights = name, pretrained_model_path

    def parameters(self):
        return []

    def __call__(self, image, reference=None):
        if self.name == "ends":
            sys.stderr.write("out of memory\\n")
            os._exit(3)
        if self.name == "broken" and image.max() > 0.99:
            raise ValueError("too bright")
        if self.name == "nan":
            return Value("nan")
        other = 0.0 if reference is None else reference.mean()
        return Value(255 * (image.mean() - other)), "a map"

create_metric = Metric

def list_models():
    return ["lpips", "musiq", "psnry"]
"""
"""A module `pyiqa` of which the worker needs no more; `torch` only hands arrays on."""


@pytest.fixture
def _stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyiqa.py").write_text(STAND_IN)
    (tmp_path / "torch.py").write_text("from_numpy = lambda values: values")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(python))


@pytest.mark.usefixtures("_stand_in")
def test_any_name_that_the_installed_pyiqa_lists_needs_no_prefix(tmp_path: Path):
    metric = metric_by_name("psnry")
    assert metric.info.name == "pyiqa:psnry"
    close_metric(metric)
    weights = tmp_path / "weights.pth"
    weights.touch()
    metric = metric_by_name(f"musiq@{weights}")
    assert metric.info.name == f"pyiqa:musiq@{weights}"
    close_metric(metric)
    assert metric_names("trained:a,b,musiq,psnr") == ("trained:a,b", "musiq", "psnr")
    with pytest.raises(UsageError, match="unknown metric; got 'psnrz'; did you mean psnr"):
        metric_by_name("psnrz")


def test_without_pyiqa_an_unknown_name_may_be_one_of_its(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "/no/such/python")
    with pytest.raises(UsageError, match="or after `make pyiqa` pyiqa:NAME; got 'unlisted'; available: psnr"):
        metric_by_name("unlisted")
    for name in ("psnry", "musiq", "hyperiqa", "maniqa", "nima", "ilniqe", "tres"):
        with pytest.raises(MissingDependencyError, match="no environment with pyiqa"):
            metric_by_name(name)


@pytest.mark.usefixtures("_stand_in")
def test_a_metric_is_described_measures_and_ends():
    metric = metric_by_name("pyiqa:pair")
    assert (metric.info.needs, metric.info.higher_is_better) == (Needs.REFERENCE, False)
    expected = float(FIRST.mean()) - float(SECOND.mean())
    assert metric.measure(FIRST, SECOND) == pytest.approx(expected, abs=1e-3)
    assert metric.measure(SECOND, SECOND) == pytest.approx(0.0, abs=1e-4)
    with pytest.raises(InputError, match="compares with a reference"):
        metric.measure(FIRST)
    close_metric(metric)
    with pytest.raises(InputError, match="has ended"):
        metric.measure(FIRST, SECOND)


@pytest.mark.usefixtures("_stand_in")
def test_a_metric_without_reference_gets_one_image(tmp_path: Path):
    weights = tmp_path / "net.pth"
    weights.write_bytes(b"")
    metric = metric_by_name(f"pyiqa:alone@{weights}")
    assert metric.info.name == f"pyiqa:alone@{weights}"
    assert metric.measure(FIRST, SECOND) == pytest.approx(float(FIRST.mean()), abs=1e-3)
    close_metric(metric)


@pytest.mark.usefixtures("_stand_in")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "pyiqa:missing: KeyError: 'no metric of this name'"),
        ("download", "wants to download a file, and nothing is downloaded here"),
        ("folder", "does not measure single images"),
        ("pair@no_such_file.pth", "no weights for pyiqa:pair"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(name: str, message: str):
    with pytest.raises(InputError, match=message):
        metric_by_name(f"pyiqa:{name}")


@pytest.mark.usefixtures("_stand_in")
def test_an_image_that_fails_does_not_end_the_worker():
    metric = metric_by_name("pyiqa:broken")
    with pytest.raises(InputError, match="ValueError: too bright"):
        metric.measure(FIRST, SECOND)
    assert metric.measure(FIRST // 2, FIRST // 2) == pytest.approx(0.0, abs=1e-4)
    close_metric(metric)
    metric = metric_by_name("pyiqa:nan")
    with pytest.raises(InputError, match="has no value"):
        metric.measure(FIRST, SECOND)
    close_metric(metric)


@pytest.mark.usefixtures("_stand_in")
def test_a_worker_that_ends_is_reported_with_its_last_line():
    metric = metric_by_name("pyiqa:ends")
    with pytest.raises(InputError, match="ended: out of memory"):
        metric.measure(FIRST, SECOND)


def test_a_worker_that_hangs_is_killed(tmp_path: Path):
    script = tmp_path / "hangs.py"
    script.write_text("import time\ntime.sleep(600)\n")
    with pytest.raises(InputError, match=r"did not answer within 0\.5 s"):
        WorkerProcess([sys.executable, str(script)], {}, "it", start_s=0.5)


def test_a_worker_that_cannot_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch):
    started: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    tells = (
        "import socket, sys, time; s = socket.socket(fileno=int(sys.argv[1])); s.sendall(%r); time.sleep(600)"
    )
    with pytest.raises(InputError, match="it: no such suite"):
        WorkerProcess([sys.executable, "-c", tells % b'{"error": "no such suite"}\n', "{socket}"], {}, "it")
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_no_environment_is_a_missing_dependency(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "/no/such/python")
    with pytest.raises(MissingDependencyError, match="make pyiqa"):
        metric_by_name("pyiqa:psnr")
    with pytest.raises(UsageError, match="expected pyiqa:NAME"):
        metric_by_name("pyiqa:@file")
    monkeypatch.setattr(worker_process, "source_checkout", lambda: None)
    with pytest.raises(
        MissingDependencyError, match=f"expected {VARIABLE} with the Python of an environment"
    ):
        metric_by_name("pyiqa:psnr")  # a wheel has no Makefile


def _pyiqa(name: str) -> PyiqaMetric:
    try:
        pyiqa_python()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return PyiqaMetric(name)


@pytest.mark.parametrize(("name", "ours"), [("psnr", "psnr"), ("fsim", "fsim"), ("piqe", "piqe")])
def test_pyiqa_measures_what_we_measure(name: str, ours: str):
    metric = _pyiqa(name)
    value = metric.measure(SECOND, FIRST)
    close_metric(metric)
    assert metric.info.higher_is_better is BUILT_IN[ours].info.higher_is_better
    assert value == pytest.approx(BUILT_IN[ours].measure(SECOND, FIRST), rel=1e-2)

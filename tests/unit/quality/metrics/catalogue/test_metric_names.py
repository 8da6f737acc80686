"""Every metric is found by its name."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.quality.metrics import BUILT_IN, Metric, Needs, psnr
from embodied_iqa.quality.metrics.catalogue import KINDS, close_metric, metric_by_name

BLACK, GREY = (np.full((48, 64, 3), value, np.uint8) for value in (0, 9))

OWN = """
from embodied_iqa.quality.metrics import MetricInfo, Needs

class Mean:
    closed = 0

    def __init__(self, needs=Needs.NOTHING):
        self.info = MetricInfo("mean", needs, True, smallest_px=4)

    def measure(self, distorted, reference=None, context=None):
        return distorted.mean() - (0 if reference is None else reference.mean())

    def close(self):
        Mean.closed += 1

def pair():
    return Mean(Needs.REFERENCE)

class Broken(Mean):
    def measure(self, distorted, reference=None, context=None):
        raise KeyError("no luck")

class Unknown(Mean):
    def measure(self, distorted, reference=None, context=None):
        return float("nan")

class Text(Mean):
    def measure(self, distorted, reference=None, context=None):
        return "7"

class Share(Mean):
    def __init__(self):
        self.info = MetricInfo("share", Needs.NOTHING, True, 0.0, 1.0)

    def measure(self, distorted, reference=None, context=None):
        return 1.0000001 if distorted.mean() == 9 else 7.0

def unmade():
    raise RuntimeError("no weights")

nothing = dict
"""


@pytest.fixture
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_mean.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_metric_has_the_name_that_finds_it(name: str):
    metric = metric_by_name(name)
    assert isinstance(metric, Metric)
    assert metric.info.name == name
    assert metric.info.source
    assert metric.info.lowest < metric.info.highest


def test_a_size_is_part_of_a_name():
    metric = metric_by_name("psnr:16x12")
    rng = np.random.default_rng(3)
    first, second = (rng.integers(0, 256, (48, 64, 3), dtype=np.uint8) for _ in range(2))
    small = [cv2.resize(image, (16, 12), interpolation=cv2.INTER_AREA) for image in (first, second)]
    assert metric.info.name == "psnr:16x12"
    assert metric.measure(second, first) == psnr(*small)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pnsr", "unknown metric; .*got 'pnsr'; did you mean psnr"),
        ("nothing:x", "available: psnr, .*python:MODULE:FACTORY"),
        ("psnr:16", "not a size for psnr; expected psnr:WIDTHxHEIGHT"),
        ("psnr:0x8", "not a size"),
        ("python:no_such_module_here:x", "no module no_such_module_here"),
    ],
)
def test_a_wrong_name_is_a_usage_error(name: str, message: str):
    with pytest.raises(UsageError, match=message):
        metric_by_name(name)


def test_a_size_below_the_smallest_of_the_metric_is_refused():
    with pytest.raises(InputError, match="ssim needs larger images; expected at least 11"):
        metric_by_name("ssim:10x40")


@pytest.mark.usefixtures("_own")
def test_own_metrics_of_both_kinds_measure_and_close():
    alone, pair = metric_by_name("python:a_mean:Mean"), metric_by_name("python:a_mean:pair")
    assert (alone.info.name, alone.info.needs) == ("python:a_mean:Mean", Needs.NOTHING)
    assert alone.measure(GREY) == 9.0
    assert pair.measure(GREY, BLACK) == 9.0
    close_metric(pair)
    close_metric(metric_by_name("psnr"))


@pytest.mark.usefixtures("_own")
def test_what_is_wrong_with_an_own_metric_is_reported():
    pair = metric_by_name("python:a_mean:pair")
    with pytest.raises(InputError, match="compares with a reference"):
        pair.measure(GREY)
    with pytest.raises(InputError, match="differ in size"):
        pair.measure(GREY, BLACK[1:])
    with pytest.raises(InputError, match="too small"):
        metric_by_name("python:a_mean:Mean").measure(GREY[:3])
    with pytest.raises(InputError, match="a_mean:Broken fails: KeyError"):
        metric_by_name("python:a_mean:Broken").measure(GREY)
    with pytest.raises(InputError, match="a_mean:Unknown returned nan; expected a number"):
        metric_by_name("python:a_mean:Unknown").measure(GREY)
    with pytest.raises(InputError, match="a_mean:Text returned no number; expected a number; got '7'"):
        metric_by_name("python:a_mean:Text").measure(GREY)
    share = metric_by_name("python:a_mean:Share")
    assert share.measure(GREY) == 1.0000001  # rounding
    with pytest.raises(InputError, match="Share left its range; expected 0 to 1, as its info states; got 7"):
        share.measure(BLACK)
    with pytest.raises(InputError, match="cannot be made: RuntimeError: no weights"):
        metric_by_name("python:a_mean:unmade")
    with pytest.raises(InputError, match="is not a metric"):
        metric_by_name("python:a_mean:nothing")


def test_kinds_have_distinct_words_that_no_built_in_metric_has():
    words = [kind.word for kind in KINDS]
    assert len(set(words)) == len(words)
    assert not set(words) & set(BUILT_IN)


def test_a_built_in_metric_without_its_reference_is_refused():
    with pytest.raises(InputError, match="ssim compares with a reference"):
        metric_by_name("ssim").measure(GREY)

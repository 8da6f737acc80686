"""Calibration: targets, curves, and the parameters that ship."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import Source, catalogue, entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.references import Reference, scikit_photographs
from embodied_iqa.quality.metrics.level_calibration import (
    METRICS,
    SEARCHES,
    Search,
    calibrate,
    mean_drop,
    reachable_targets,
)

SHIPPED = json.loads(files("embodied_iqa.imaging.distortions").joinpath("calibrated.json").read_text("utf-8"))


def test_exactly_the_marked_types_are_calibrated():
    marked = {line.id for line in catalogue() if line.source is Source.CALIBRATION}
    assert marked == set(SEARCHES) == set(SHIPPED["levels"])
    assert len(METRICS) >= 2


@pytest.mark.parametrize("distortion_id", sorted(SEARCHES))
def test_shipped_levels_cost_what_their_level_should(distortion_id: str):
    reached, out_of_reach = SHIPPED["reached"][distortion_id], SHIPPED["out_of_reach"][distortion_id]
    assert np.all(np.diff(reached) > 0)
    for level in set(range(1, 6)) - set(out_of_reach):
        assert reached[level - 1] == pytest.approx(SHIPPED["targets"][level - 1], rel=0.05)


@pytest.mark.parametrize("distortion_id", ["01", "17", "21", "24", "30"])
def test_shipped_levels_are_on_the_shipped_curve_and_are_what_is_applied(distortion_id: str):
    curve, levels = SHIPPED["curves"][distortion_id], SHIPPED["levels"][distortion_id]
    read_off = np.interp(levels, curve["parameter"], curve["drop"])
    assert read_off == pytest.approx(SHIPPED["reached"][distortion_id], rel=0.08)
    assert entry(distortion_id).parameters == tuple((level,) for level in levels)


def test_shipped_curves_hold_on_the_photographs_of_the_recipe():
    references = scikit_photographs()[1:3]
    assert all(reference.name in SHIPPED["references"] for reference in references)
    drops = {
        name: [mean_drop(entry(name), row, references) for row in entry(name).parameters]
        for name in ("01", "08", "26")
    }
    for values in drops.values():
        assert np.all(np.diff(values) > 0)
        assert values == pytest.approx(SHIPPED["targets"], rel=0.9)


def test_targets_out_of_reach_are_spread_evenly():
    targets = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    assert reachable_targets(targets, 0.0, 1.0) == pytest.approx(targets)
    assert reachable_targets(targets, 0.0, 0.25) == pytest.approx(
        [0.1, 0.2, 0.2 + 0.05 / 3, 0.2 + 0.1 / 3, 0.25]
    )
    assert reachable_targets(targets, 0.15, 1.0) == pytest.approx([0.15, 0.2, 0.3, 0.4, 0.5])
    assert np.all(np.diff(reachable_targets(targets, 0.0, 0.05)) > 0)


def test_a_search_stays_in_its_range():
    assert Search(98, 1, logarithmic=False, whole=True).grid(9)[0] == 98
    assert Search(98, 1, logarithmic=False, whole=True).grid(9)[-1] == 1
    assert np.all(np.diff(Search(0.1, 10).grid(9)) > 0)


def test_calibration_aligns_the_levels_on_a_small_recipe(photographs: list[Image]):
    finished: list[str] = []
    references = [Reference("coffee", np.ascontiguousarray(photographs[2][::2, ::2]))]
    outcome = calibrate(references, 9, finished.append)
    assert sorted(finished) == [line.id for line in catalogue()]
    for curve in outcome.curves:
        assert len(set(curve.levels)) == 5
        for level in set(range(1, 6)) - set(curve.out_of_reach):
            assert curve.reached[level - 1] == pytest.approx(outcome.targets[level - 1], rel=0.4), curve.id


def test_calibration_needs_images_and_steps():
    with pytest.raises(UsageError, match="images"):
        calibrate([], 9, print)


def test_the_ranges_that_were_searched_are_those_of_the_shipped_levels():
    """A change of a range is a new calibration, and with it new levels."""
    found = {name: (s.mildest, s.severest, s.logarithmic, s.whole) for name, s in SEARCHES.items()}
    assert found == {
        "01": (0.4, 12.0, True, False),
        "03": (2.0, 60.0, True, False),
        "08": (1.1, 20.0, True, False),
        "11": (98.0, 1.0, False, True),
        "17": (0.0001, 0.3, True, False),
        "20": (0.01, 0.7, True, False),
        "21": (0.01, 0.7, True, False),
        "23": (0.003, 3.0, True, False),
        "24": (0.003, 0.95, True, False),
        "25": (0.003, 0.95, True, False),
        "26": (0.003, 0.95, True, False),
        "30": (-0.15, 2.0, False, False),
    }

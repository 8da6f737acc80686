"""Line plots: everything inside the frame, true to scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.pages.reports.kit.line_plot import Axis, Curve, LinePlot, line_plot

X, Y = Axis("x [mm]", 10.0), Axis("y [mm]", 10.0)
LINES = st.lists(
    st.tuples(st.floats(-1e4, 1e4, allow_subnormal=False), st.floats(-1e4, 1e4, allow_subnormal=False)),
    min_size=1,
    max_size=30,
).map(np.array)


def _points(curve: Curve | None) -> np.ndarray:
    assert curve is not None
    return np.array([tuple(map(float, word.split(","))) for word in curve.points.split()])


def _value(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-"))


def _scale(plot: LinePlot) -> tuple[float, float]:
    """Units of the viewBox for a unit of the data, from the labels alone."""
    x, y = plot.x_ticks, plot.y_ticks
    across = (x[-1].at - x[0].at) / (_value(x[-1].text) - _value(x[0].text))
    return across, -(y[-1].at - y[0].at) / (_value(y[-1].text) - _value(y[0].text))


@given(LINES, LINES, st.booleans())
@settings(max_examples=60)
def test_lines_and_ticks_stay_inside(reference: np.ndarray, distorted: np.ndarray, equal: bool) -> None:
    plot = line_plot(reference, distorted, X, Y, equal=equal)
    assert plot is not None
    for points in (_points(plot.reference), _points(plot.distorted)):
        assert (points[:, 0] >= plot.left).all()
        assert (points[:, 0] <= plot.right).all()
        assert (points[:, 1] >= plot.top).all()
        assert (points[:, 1] <= plot.bottom).all()
    assert all(plot.left <= tick.at <= plot.right for tick in plot.x_ticks)
    assert all(plot.top <= tick.at <= plot.bottom for tick in plot.y_ticks)
    assert 2 <= len(plot.x_ticks) <= 7


@given(LINES)
@settings(max_examples=60)
def test_labels_say_where_the_line_is(line: np.ndarray) -> None:
    plot = line_plot(line, None, X, Y)
    assert plot is not None
    across, up = _scale(plot)
    first, at = plot.x_ticks[0], _points(plot.reference)[0]
    assert _value(first.text) + (at[0] - first.at) / across == pytest.approx(line[0, 0], abs=0.3 / across)
    first = plot.y_ticks[0]
    assert _value(first.text) - (at[1] - first.at) / up == pytest.approx(line[0, 1], abs=0.3 / up)


@given(LINES)
@settings(max_examples=60)
def test_a_map_has_one_scale(line: np.ndarray) -> None:
    plot = line_plot(line, None, X, Y, equal=True)
    assert plot is not None
    across, up = _scale(plot)
    assert across == pytest.approx(up, rel=0.02)


def test_long_lines_are_thinned_and_keep_their_ends() -> None:
    line = np.stack([np.arange(5000.0), np.sin(np.arange(5000.0))], axis=1)
    plot = line_plot(line, line[:10], X, Y)
    assert plot is not None
    assert plot.reference is not None
    points = _points(plot.reference)
    assert len(points) <= 240
    assert tuple(points[0]) == plot.reference.start
    assert tuple(points[-1]) == plot.reference.end


def test_what_is_not_a_number_is_left_out() -> None:
    line = np.array([[0.0, 1.0], [np.nan, 2.0], [3.0, np.inf], [4.0, 5.0]])
    plot = line_plot(line, None, X, Y)
    assert plot is not None
    assert len(_points(plot.reference)) == 2
    assert line_plot(np.array([[np.nan, 1.0]]), None, X, Y) is None
    assert line_plot(None, None, X, Y) is None

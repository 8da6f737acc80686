"""Reasons of many frames in a few words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.pages.reports.trial.gate_timeline import merge_reasons

NUMBERS = st.floats(-1e3, 1e3, allow_nan=False).map(lambda value: f"{value:.3f}")


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_become_their_range(numbers: list[str]) -> None:
    (merged,) = merge_reasons(f"detail {number} below 0.31: blurred" for number in numbers)
    low, high = min(map(float, numbers)), max(map(float, numbers))
    words = merged.removeprefix("detail ").removesuffix(" below 0.31: blurred").split(" to ")
    assert [float(word) for word in words] == ([low] if low == high else [low, high])


@pytest.mark.parametrize(
    ("reasons", "merged"),
    [
        ([], ()),
        (["", "  "], ()),
        (["too dark", "too dark"], ("too dark",)),
        (["a 1 b", "a 1 c"], ("a 1 b", "a 1 c")),
        (["tones 0.81 low; chroma 2 low", "chroma 3 low"], ("tones 0.81 low", "chroma 2 to 3 low")),
        (["x 1e-3", "x -2.5"], ("x -2.5 to 1e-3",)),
        (["8x8 blocks 4", "8x8 blocks 5"], ("8x8 blocks 4 to 5",)),
        (["7"], ("7",)),
    ],
)
def test_what_becomes_of_them(reasons: list[str], merged: tuple[str, ...]) -> None:
    assert merge_reasons(reasons) == merged


@given(st.lists(st.text(max_size=30), max_size=6))
def test_any_text_is_fine_and_nothing_comes_twice(reasons: list[str]) -> None:
    merged = merge_reasons(reasons)
    assert len(set(merged)) == len(merged)
    assert bool(merged) == any(part.strip() for reason in reasons for part in reason.split("; "))

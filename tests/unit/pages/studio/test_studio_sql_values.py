"""Values in SQL texts: read back unchanged, never as SQL, and without pandas."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from embodied_iqa.pages.studio.browse.overview import with_values
from live_process import COMPLETION_S

WITHOUT_PANDAS = """
import sys, duckdb
from embodied_iqa.pages.studio.browse.overview import with_values
duckdb.connect().execute(with_values("SELECT ?, ?", ["a", 1])).to_arrow_table()
assert "pandas" not in sys.modules
"""


@pytest.mark.parametrize(
    "value", ["", "a'; DROP TABLE t; --", "?", "\x00", "\u2028é\\", 3, 0.1, True, ["a", "b'"]]
)
def test_a_value_comes_back_unchanged(value: object) -> None:
    assert duckdb.connect().execute(with_values("SELECT ?", [value])).fetchall() == [(value,)]


@pytest.mark.parametrize("values", [[], [1, 2]])
def test_every_question_mark_has_one_value(values: list[object]) -> None:
    with pytest.raises(ValueError, match="zip"):
        with_values("SELECT ?", values)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="dict"):
        with_values("SELECT ?", [{}])


def test_a_query_with_values_does_not_import_pandas() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=True, timeout=COMPLETION_S)

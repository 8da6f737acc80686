"""Published rows: totals, swapped columns, other findings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.suites.static_benchmark import published
from embodied_iqa.suites.static_benchmark.published import (
    PersonColumns,
    PublishedTables,
    findings,
    person_checks,
    published_tables,
    vla_totals,
    vlm_totals,
)


def test_all_19_totals_of_vlms_are_hits_of_150_150_and_700_items() -> None:
    checks = vlm_totals()
    assert len(checks) == 19
    assert all(check.agrees for check in checks)
    assert [check.recomputed for check in checks] == [row.score for row in published_tables().vlm]


def test_all_11_totals_of_vlas_are_weighted_by_degrees_of_freedom() -> None:
    checks = vla_totals()
    assert len(checks) == 11
    assert all(check.agrees for check in checks)
    for check in checks:
        assert check.recomputed == pytest.approx(check.printed, abs=0.01)


def test_no_other_weights_of_the_parts_reproduce_the_11_totals() -> None:
    rows = published_tables().vla
    equal = [abs((row.position + row.orientation + row.end_effector) / 3 - row.score) for row in rows]
    assert max(equal) > 1.0


def test_two_rows_have_swapped_columns_and_two_fit_neither_way() -> None:
    by_verdict: dict[PersonColumns, list[str]] = {}
    for check in person_checks():
        by_verdict.setdefault(check.verdict, []).append(check.model)
    assert by_verdict[PersonColumns.SWAPPED] == ["GPT-4o-mini", "Grok-2-vision"]
    assert by_verdict[PersonColumns.NEITHER] == ["Claude-sonnet-4", "GPT-4o"]
    assert by_verdict[PersonColumns.SWAPPED_BY_ROUNDING] == ["GPT-4.1-nano"]
    assert len(by_verdict[PersonColumns.PRINTED]) == 14


def test_swapped_rows_give_exactly_the_hits_of_the_total() -> None:
    found = {check.model: check for check in person_checks()}
    mini, grok = found["GPT-4o-mini"], found["Grok-2-vision"]
    assert (sum(mini.printed), mini.swapped, mini.hits) == (546, (214, 325), 539)
    assert (sum(grok.printed), grok.swapped, grok.hits) == (533, (213, 307), 520)


def test_findings_name_the_rows() -> None:
    text = "\n".join(findings())
    for words in ("GPT-4o-mini: columns", "214 + 325 = 539", "Octo-base-1.5: two parts", "probably plain"):
        assert words in text


def test_the_command_reproduces_all_totals_and_prints_the_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["static", "published", "--check"]) == 0
    printed = capsys.readouterr().out
    assert "VLM: 19 of 19 totals reproduced" in printed
    assert "VLA: 11 of 11 totals reproduced" in printed
    assert "Grok-2-vision: columns of first and third person are swapped" in printed
    assert main(["static", "published", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (len(tree["vlm"]), len(tree["vla"])) == (19, 11)


def test_a_total_that_does_not_fit_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = published_tables()
    wrong = replace(tables.vla[0], score=tables.vla[0].score + 0.02)
    monkeypatch.setattr(
        published, "published_tables", lambda: PublishedTables(tables.vlm, (wrong, *tables.vla[1:]))
    )
    assert main(["static", "published", "--check"]) == 1

"""Continuous integration ends with one closing line that counts the runs on both Pythons."""

import closing_line

FIRST = "== summary ==\nFAILED a - 3 passed in 1s\n== 1 failed, 40 passed, 2 skipped in 61.25s (0:01:01) =="
SECOND = "collected 3 items\n\n===== 3 passed, 1 warning, 1 error in 2.50s =====\n"


def test_closing_lines_are_added_up_and_the_longest_time_is_that_of_both() -> None:
    both = closing_line.closing_line(f"{FIRST}\nci: Python 3.11\n{SECOND}")
    assert both == "===== 1 failed, 43 passed, 2 skipped, 1 warnings, 1 errors in 61.25s ====="


def test_runs_that_end_without_a_closing_line_count_nothing() -> None:
    assert closing_line.closing_line("set-up: no network\n") == "===== no tests ran in 0.00s ====="

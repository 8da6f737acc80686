"""`make check`: ruff, mypy and the tests that a change can reach."""

"""Benchmarks of a database that are kept in it or beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.records import read_json
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import PLAN_FILE
from embodied_iqa.quality.metrics.benchmark.benchmark_results import RESULTS, BenchmarkResults


@dataclass(frozen=True, slots=True)
class BenchmarksBeside:
    """Benchmarks of a database.

    Attributes:
        results: By folder, the newest first.
        outdated: Folders with results on other pairs or scores of a database of this name.
    """

    results: dict[Path, BenchmarkResults]
    outdated: tuple[Path, ...]


def database_hashes(store: DatabaseStore) -> dict[str, str]:
    """Return the hashes of pairs and scores by file name: results on other ones do not count."""
    return {file.name: sha256_of(file) for file in (store.pairs_file, store.scores_file)}


def benchmarks_beside(store: DatabaseStore) -> BenchmarksBeside:
    """Return the benchmarks of a database in its folder and in the folder that holds it.

    Raises:
        InputError: A benchmark's file is damaged.
    """
    place = store.path.resolve()
    files = chain(place.glob(f"*/{RESULTS}"), place.parent.glob(f"*/{RESULTS}"))
    found = sorted((file for file in files if (file.parent / PLAN_FILE).is_file()), key=_age_s)
    hashes = database_hashes(store) if found else {}
    results: dict[Path, BenchmarkResults] = {}
    outdated = []
    for file in found:
        plan = load_json(file.parent / PLAN_FILE, "the plan")
        if plan.get("database") == hashes:
            results[file.parent] = read_json(BenchmarkResults, file, "the benchmark")
        elif load_json(file, "the benchmark").get("database") == place.name:
            outdated.append(file.parent)
    return BenchmarksBeside(results, tuple(outdated))


def _age_s(file: Path) -> float:
    return -file.stat().st_mtime

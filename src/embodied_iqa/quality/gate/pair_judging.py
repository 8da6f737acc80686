"""A gate judges the pairs of a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.data.database.database_images import distorted_rgb
from embodied_iqa.data.database.schema import Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.verdicts import VERDICTS, PairVerdict, stored_verdicts
from embodied_iqa.quality.gate.calibration_file import GateFile
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper

Progress = Callable[[Iterable[Pair]], Iterable[Pair]]


def judge_pairs(
    store: DatabaseStore, gatekeeper: Gatekeeper, gate: str, progress: Progress = iter
) -> Counter[str]:
    """Judge every distorted image and keep the verdicts; they replace those of an earlier gate.

    Args:
        store: The database.
        gatekeeper: The gate.
        gate: Its name, for the table.
        progress: Passes the pairs on.

    Returns:
        Number of pairs by verdict.

    Raises:
        InputError: An image cannot be read, `verdicts.parquet` is a file of another kind, or another job
            works in the database.
    """
    with JobFolder(store.path, "judging by a gate", resumes=False).locked():
        stored_verdicts(store)
        references = {row.reference_id: row for row in rows_of(Reference, store.references())}
        rows = [
            _judged(store, gatekeeper, gate, references, pair)
            for pair in progress(rows_of(Pair, store.pairs()))
        ]
        write_table(store.verdicts_file, table_of(PairVerdict, rows), VERDICTS)
        record, digest = store.record(), sha256_of(store.verdicts_file)
        store.write_record(replace(record, sha256=record.sha256 | {store.verdicts_file.name: digest}))
    return Counter(row.verdict for row in rows)


def uncalibrated(store: DatabaseStore, file: GateFile) -> tuple[str, ...]:
    """Return the cameras of the pairs, with their sizes, of which a gate rejects every image.

    Raises:
        InputError: They are all cameras of the pairs.
    """
    has_pairs = set(store.pairs(["reference_id"])["reference_id"].to_pylist())
    columns = ["reference_id", "view", "width_px", "height_px"]
    cameras = {
        (row["view"], row["width_px"], row["height_px"])
        for row in store.references(columns).to_pylist()
        if row["reference_id"] in has_pairs
    }
    known = {(str(item.view), item.width_px, item.height_px) for item in file.cameras}
    missing = _in_words(cameras - known)
    if missing and not cameras & known:
        raise InputError(
            f"{file.path} is not calibrated for any image of {store.path}: {', '.join(missing)}; "
            "nothing is judged",
            expected="a file of `embodied-iqa gate calibrate` on such images",
            available=_in_words(known),
        )
    return missing


def _in_words(cameras: Iterable[tuple[str, int, int]]) -> tuple[str, ...]:
    return tuple(f"{view} {width}x{height}" for view, width, height in sorted(cameras))


def _judged(
    store: DatabaseStore,
    gatekeeper: Gatekeeper,
    gate: str,
    references: dict[str, Reference],
    pair: Pair,
) -> PairVerdict:
    if pair.reference_id not in references:
        raise InputError(f"{store.path}: pair {pair.pair_id} has an unknown reference", got=pair.reference_id)
    reference = references[pair.reference_id]
    judged = gatekeeper.judge_alone(reference.view, distorted_rgb(store.path, reference, pair))
    return PairVerdict(pair.pair_id, pair.sha256, judged.verdict.name.lower(), judged.reason, gate)

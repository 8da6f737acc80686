"""Table: the gate's judges beside failure detectors of the literature."""

from __future__ import annotations

from typing import Final

from embodied_iqa.pages.reports.kit.formatting import number
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.runs.peers.comparison import DetectorResult
from embodied_iqa.runs.peers.stored import ComparedDetectors

TITLE: Final = "Against failure detectors of the literature"
_LEAD: Final = (
    "SAFE, FIPER, FAIL-Detect and STAC, reimplemented from their papers on the features and action chunks of "
    "the policy, see the first two seconds of the same runs without a gate. Cross validation over scenes: "
    "each run is judged by detectors that were fitted on two other fifths of the scenes, in a conformal "
    "band over time from the clean runs of the remaining two. The policies are deterministic, so batches of "
    "action chunks come from five shifted copies of an image. The judges of the gate were fitted "
    "beforehand, on more scenes than the peers, and get their bound in "
    "the same way here, not from their own calibration."
)
_NOTE: Final = (
    "AUC: area under the curve of the highest score of a run, wrong motion against all other runs; among "
    "distorted runs; on the first image alone, before the arm moves; for runs that fail. Alarms: share of "
    "clean runs, of distorted runs without a wrong motion, and of runs with one (of these: on the first "
    "image). Delay: median from the beginning of the burst to the alarm on a wrong motion. Cost: beyond "
    "the policy's own decision, for an image; a peer's features could come free from the decision itself."
)


def chapter(compared: ComparedDetectors) -> Chapter:
    """Return the chapter."""
    lead = f"{_LEAD} The bound allows an alarm in {compared.rate:.0%} of the clean runs."
    return Chapter("detectors", TITLE, lead, "", (Part("", (detectors_table(compared),)),))


def detectors_table(compared: ComparedDetectors) -> Table:
    """Return the table."""
    first = compared.detectors[0]
    return Table.of(
        f"{first.runs} runs in {compared.scenes} scenes, {first.wrong} with a wrong motion",
        compared.detectors,
        {
            Column("Detector"): lambda one: one.name,
            Column("AUC", 3, name="auc"): lambda one: one.auc,
            Column("95 %", name="auc_interval"): _interval,
            Column("AUC, distorted", 3): lambda one: one.auc_distorted,
            Column("AUC, first image", 3): lambda one: one.auc_first,
            Column("AUC, failure", 3): lambda one: one.auc_failed,
            Column("Clean alarms"): lambda one: one.clean_alarms,
            Column("Harmless alarms"): lambda one: one.harmless_alarms,
            Column("Wrong motions stopped"): lambda one: one.stopped,
            Column("At the first image"): lambda one: one.stopped_at_first,
            Column("Delay (s)"): lambda one: one.detection_s,
            Column("Cost (ms)", 1): lambda one: one.cost_ms,
        },
        _NOTE,
        name="detectors",
    )


def _interval(result: DetectorResult) -> str:
    return "" if result.auc_low is None else f"{number(result.auc_low, 3)} to {number(result.auc_high, 3)}"

"""`embodied-iqa metrics list` and `show`."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Final

import numpy as np
from rich.table import Table
from rich.text import Text

from embodied_iqa.base.plugins import PluginGroup, plugins
from embodied_iqa.cli.miqa.training import held_out_words
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.quality.metrics import BUILT_IN, Metric, MetricInfo, Needs
from embodied_iqa.quality.metrics.catalogue import KINDS, close_metric, metric_by_name, plugin_fault
from embodied_iqa.quality.metrics.learned.shipped import SHIPPED
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.pyiqa.files import PYIQA_FILES

_HEIGHT_PX: Final = 720
_WIDTH_PX: Final = 1280
_ROUNDS: Final = 5


def list_metrics(arguments: argparse.Namespace) -> int:
    """Print the metrics of this package, the kinds of others, and how long each of ours takes here."""
    ours: dict[str, Metric] = {**BUILT_IN, **{name: metric_by_name(name) for name in SHIPPED}}
    times_ms = {name: milliseconds(metric, rounds=1) for name, metric in ours.items()}
    if arguments.json:
        metrics = [
            _record(metric.info) | {"ms_720p": round(times_ms[name], 1)} for name, metric in ours.items()
        ]
        files = [{"name": f"pyiqa:{one.name}", "needs": one.needs, "files": one.text} for one in PYIQA_FILES]
        others = [
            asdict(plugin) | {"fault": plugin_fault(plugin) or None}
            for plugin in plugins(PluginGroup.METRICS)
        ]
        kinds = [asdict(kind) for kind in KINDS]
        tree = {"metrics": metrics, "plugins": others, "kinds": kinds, "need_files": files}
        print_json(tree)
        return 0
    _print_list([metric.info for metric in ours.values()], times_ms)
    next_command("metrics", "score", "NAME", "IMAGES")
    return 0


def show_metric(arguments: argparse.Namespace) -> int:
    """Print all facts about a metric, with its speed on this machine."""
    metric = metric_by_name(arguments.name)
    try:
        info, time_ms = metric.info, milliseconds(metric, rounds=_ROUNDS)
        card = metric.card if isinstance(metric, TrainedMetric) else None
    finally:
        close_metric(metric)
    if arguments.json:
        print_json(_record(info) | {"ms_720p": round(time_ms, 1)} | ({"card": card} if card else {}))
        return 0
    facts = {
        "name": info.name,
        "needs": info.needs,
        "better": _direction(info),
        "range": f"{_number(info.lowest)} to {_number(info.highest)}",
        "smallest image": f"{info.smallest_px} px a side",
        "weights": _megabytes(info),
        "time": f"{time_ms:.1f} ms for an image of {_WIDTH_PX} x {_HEIGHT_PX}, here",
        "source": info.source,
    }
    if card is not None and card.results:
        facts["reached"] = held_out_words(card)
        facts["cameras"] = f"{', '.join(card.views)} of the images of the training; others count as unknown"
    table = Table.grid(padding=(0, 2))
    for heading, value in facts.items():
        table.add_row(Text(heading, style="bold"), Text(value))
    console().print(table)
    next_command("metrics", "score", info.name, "IMAGES", *_reference(info))
    return 0


def milliseconds(metric: Metric, rounds: int) -> float:
    """Return the median time of a 720p image in so many rounds after a first one, in milliseconds."""
    rng = np.random.default_rng(0)
    reference, distorted = (
        rng.integers(0, 256, (_HEIGHT_PX, _WIDTH_PX, 3), dtype=np.uint8) for _ in range(2)
    )
    taken_ms = []
    for _ in range(rounds + 1):
        started_s = time.perf_counter()
        metric.measure(distorted, reference)
        taken_ms.append(1e3 * (time.perf_counter() - started_s))
    return median(taken_ms[1:])


def _print_list(infos: Sequence[MetricInfo], times_ms: dict[str, float]) -> None:
    out = console()
    table = table_of("name", "needs", "better", "ms", "MB", "source", right=("ms", "MB"))
    for info in infos:
        cost = (f"{times_ms[info.name]:.1f}", f"{info.megabytes:g}")
        table.add_row(info.name, info.needs, _direction(info), *cost, info.source)
    table.add_section()
    for plugin in plugins(PluginGroup.METRICS):
        source = plugin_fault(plugin) or f"plug-in of {plugin.distribution}"
        table.add_row(plugin.name, "", "", "", "", Text(source))
    for kind in KINDS:
        table.add_row(Text(kind.form), "", "", "", "", Text(kind.summary))
    table.add_section()
    for one in PYIQA_FILES:
        table.add_row(f"pyiqa:{one.name}", one.needs, "", "", "", Text(f"needs {one.text}"))
    out.print(table)
    out.print(
        f"ms: for {_WIDTH_PX} x {_HEIGHT_PX} pixels, here; NAME:WIDTHxHEIGHT resizes the images first",
        style="dim",
        highlight=False,
    )


def _record(info: MetricInfo) -> dict[str, object]:
    """Return a description as plain data; an open end of the range is null."""
    tree = asdict(info)
    return tree | {name: tree[name] if math.isfinite(tree[name]) else None for name in ("lowest", "highest")}


def _direction(info: MetricInfo) -> str:
    return "higher" if info.higher_is_better else "lower"


def _megabytes(info: MetricInfo) -> str:
    return f"{info.megabytes:g} MB" if info.megabytes else "none"


def _number(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "any"


def _reference(info: MetricInfo) -> tuple[str, ...]:
    return ("--reference", "REFERENCES") if info.needs is Needs.REFERENCE else ()

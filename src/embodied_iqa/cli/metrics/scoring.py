"""`embodied-iqa metrics score`: values of images of any origin."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.progress import track
from embodied_iqa.cli.metrics.references import References
from embodied_iqa.cli.metrics.scores import Scored, print_all_scores
from embodied_iqa.cli.output import print_note
from embodied_iqa.data.database.clean_frames import open_clean
from embodied_iqa.data.frames.cameras import topics_of
from embodied_iqa.imaging.distortions.manifest import outputs_of
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.imaging.images.stored_images import Frames, UnreadableImage
from embodied_iqa.quality.metrics import Metric, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name, metric_names
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric


def score(arguments: argparse.Namespace) -> int:
    """Measure every image by every metric and print the values; return 1 if one has no value."""
    frames, names = open_clean(arguments.images), metric_names(arguments.names)
    topics = topics_of(frames, arguments.only_topic)
    context = MetricContext(view=parse_view(arguments.view) if arguments.view else None)
    metrics: list[Metric] = []
    found = []
    try:
        for name in names:
            metrics.append(metric_by_name(name))
            _check_reference(metrics[-1].info, arguments.reference)
        for metric in metrics:
            references = None
            if metric.info.needs is Needs.REFERENCE and arguments.reference is not None:
                references = References(arguments.reference, frames.path)
            scored = scores_of(metric, frames, references, context, topics)
            found.append((metric.info, list(scored)))
    finally:
        for metric in metrics:
            close_metric(metric)
    print_all_scores(found, as_json=arguments.json)
    print_note(frames.note)
    return int(any(row.value is None for _, scored in found for row in scored))


def _check_reference(info: MetricInfo, reference: Path | None) -> None:
    if info.needs is Needs.REFERENCE and reference is None:
        raise UsageError(f"{info.name} compares with a reference", expected="--reference PATH")
    if reference is not None and not reference.exists():
        expected = "an image, or a folder with the same names"
        raise InputError("no such reference", got=str(reference), expected=expected)


def scores_of(
    metric: Metric,
    frames: Frames,
    references: References | None,
    context: MetricContext,
    topics: Sequence[str] = (),
) -> Iterator[Scored]:
    """Yield the value of every image, by the order of the source; what cannot be measured says why."""
    made = outputs_of(frames.path)
    for image in track(frames.images(topics), metric.info.name, frames.count(topics)):
        if isinstance(image, UnreadableImage):
            yield Scored(image.what, None, str(image.error))
            continue
        record = made.get(image.name)
        try:
            undistorted = references.find(image.name) if references is not None else None
            pair = PairImages(image.name, image.rgb, undistorted, context)
            yield Scored(image.name, *_measured(metric, pair), record)
        except InputError as error:
            place = str(image.source) if isinstance(image.source, Path) else image.name
            reason = str(error) if place in str(error) else f"{place!r}: {error}"
            yield Scored(image.name, None, reason, None, record)


def _measured(metric: Metric, pair: PairImages) -> tuple[float, str, bool | None]:
    """Return the value, no error, and whether a trained metric has learned from such images."""
    if not isinstance(metric, TrainedMetric):
        return metric.measure(pair.distorted, pair.reference, pair.context), "", None
    values = metric.input.measure(pair.distorted, pair.reference, pair.context)
    return metric.measure_from(values, pair.context), "", metric.outside_training(values)

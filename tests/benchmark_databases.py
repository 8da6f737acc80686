"""Databases whose distorted images carry their own score, and metrics that read it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from database_folders import write_database
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import write_table
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.data.analysis.opinion import mean_opinion
from embodied_iqa.data.database.database_images import image_hash
from embodied_iqa.data.database.schema import PAIRS, REFERENCES
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.quality.metrics.metric import Image, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.trainable import TrainingSet

SHAPE = (12, 16, 3)
TRUTH, SHUFFLED = "python:benchmark_databases:Truth", "python:benchmark_databases:Shuffled"
PICKY, MUTE = "python:benchmark_databases:Picky", "python:benchmark_databases:Mute"
STORED = "python:benchmark_databases:Stored"
RECIPE = "python:benchmark_databases:Recipe"


def telling_database(path: Path, references: int = 20, subjects: int = 5) -> DatabaseStore:
    """A database with images; the first pixel of each is the rank of its decision score."""
    store = write_database(path, references, subjects)
    grid = load_grid(store)
    opinion = mean_opinion(grid.groups[Group.DECISION].total).raw
    rank = dict(zip(grid.pairs.pair_ids.tolist(), opinion.argsort().argsort().tolist(), strict=True))
    clean = np.full(SHAPE, 90, np.uint8)
    rows = store.references().to_pylist()
    for row in rows:
        write_image(path / row["image"], clean)
        row["sha256"] = image_hash(clean)
        camera = {"view": row["view"], "image": row["image"], "sha256": row["sha256"]}
        numbers = dict.fromkeys(("fx_px", "fy_px"), 20.0) | dict.fromkeys(("cx_px", "cy_px"), 5.0)
        row["cameras"] = [camera | numbers | {"T_base_camera": np.eye(4).ravel().tolist()}]
    write_table(store.references_file, pa.Table.from_pylist(rows, schema=REFERENCES), REFERENCES)
    pairs = store.pairs().to_pylist()
    for row in pairs:
        rgb = clean + np.uint8(row["level"])
        rgb[0, 0] = (*divmod(rank[row["pair_id"]], 256), 0)
        row["image"], row["sha256"] = f"images/pairs/{row['pair_id']}.png", image_hash(rgb)
        write_image(path / row["image"], rgb)
    write_table(store.pairs_file, pa.Table.from_pylist(pairs, schema=PAIRS), PAIRS)
    return store


def _rank(image: Image) -> int:
    return int(image[0, 0, 0]) * 256 + int(image[0, 0, 1])


class Truth:
    """Equals the score, up to a monotone map."""

    info = MetricInfo("truth", Needs.NOTHING, higher_is_better=True)

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the rank."""
        return float(_rank(distorted)) ** 2


class Shuffled(Truth):
    """Says nothing; lower is better."""

    info = replace(Truth.info, name="shuffled", higher_is_better=False)

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return a hash of the rank."""
        return float(hashlib.sha256(str(_rank(distorted)).encode()).digest()[0])


class Picky(Truth):
    """Refuses half of the images."""

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the rank, if it is even."""
        if _rank(distorted) % 2:
            raise InputError("odd")
        return float(_rank(distorted))


class Mute(Truth):
    """Refuses every image."""

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Raise the refusal."""
        raise InputError("it is mute")


class Recipe:
    """A metric to train; keeps what it was given."""

    name, version = "recipe", "1"
    made = TRUTH

    def train(self, samples: TrainingSet, out: Path, seed: int) -> str:
        """Write the names and labels, and return the metric that equals the score."""
        out.mkdir(parents=True, exist_ok=True)
        (out / "given.json").write_text(json.dumps([samples.pair_ids, samples.labels.tolist(), seed]))
        assert len(list(samples.images.read(samples.pair_ids[:1]))) == 1
        return self.made


class Blind(Recipe):
    """Likewise, of a metric that says nothing."""

    name, made = "blind", SHUFFLED


class Stored(Recipe):
    """Likewise, of a metric with files."""

    def train(self, samples: TrainingSet, out: Path, seed: int) -> str:
        """Return a name with the folder in it."""
        super().train(samples, out, seed)
        return f"trained:{out}"

"""The random stream of live frames: bound to seed, type, level, view and stamp, and to nothing else."""

from __future__ import annotations

import subprocess
import sys
from hashlib import blake2b, sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.stream import frame_generator
from embodied_iqa.imaging.images import View

STAMP_NS = 1_700_000_000_123_456_789


def test_no_distortion_passes_the_same_array_through():
    image = np.zeros((20, 20, 3), np.uint8)
    assert FrameDistorter(None).apply(image, View.TOP, 5) is image


def test_every_part_of_the_key_matters(photograph: Image):
    def made(seed: int = 1, level: int = 3, view: str = "top", stamp_ns: int = STAMP_NS) -> bytes:
        return FrameDistorter(DistortionSpec("12", level, seed)).apply(photograph, view, stamp_ns).tobytes()

    variants = [made(), made(seed=2), made(level=4), made(view="wrist"), made(stamp_ns=STAMP_NS + 1)]
    assert len(set(variants)) == len(variants)
    assert made() == made(view=View.TOP)


def test_a_frozen_pattern_stays_the_same_from_frame_to_frame(photograph: Image):
    frozen = FrameDistorter(DistortionSpec("12", 3, 1, frozen=True))
    assert np.array_equal(frozen.apply(photograph, "top", 1), frozen.apply(photograph, "top", 2))
    assert not np.array_equal(frozen.apply(photograph, "top", 1), frozen.apply(photograph, "side", 1))


@pytest.mark.parametrize("distortion_id", ["03", "05", "miqd:motion-blur"])
def test_views_share_what_sets_the_look_of_the_whole_image(distortion_id: str, photograph: Image):
    distorter = FrameDistorter(DistortionSpec(distortion_id, 5, 1))
    top, side = (distorter.apply(photograph, view, STAMP_NS) for view in ("top", "side"))
    assert np.array_equal(top, side)
    assert not np.array_equal(top, distorter.apply(photograph, "top", STAMP_NS + 1))


PROGRAM = """
import sys
from hashlib import sha256
import numpy as np
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter, catalogue
image = np.random.default_rng(5).integers(0, 256, (96, 128, 3), dtype=np.uint8)
for line in catalogue():
    out = FrameDistorter(DistortionSpec(line.id, 4, 11)).apply(image, "wrist", int(sys.argv[1]))
    print(line.id, sha256(out).hexdigest())
"""


def test_another_process_makes_the_same_bytes():
    image = np.random.default_rng(5).integers(0, 256, (96, 128, 3), dtype=np.uint8)
    command = [sys.executable, "-c", PROGRAM, str(STAMP_NS)]
    environment = {"PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    other = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    for line in other.splitlines():
        distortion_id, digest = line.split()
        here = FrameDistorter(DistortionSpec(distortion_id, 4, 11)).apply(image, "wrist", STAMP_NS)
        assert sha256(here).hexdigest() == digest, distortion_id


def test_an_unknown_distortion_is_refused_at_once():
    with pytest.raises(UsageError, match="unknown distortion"):
        FrameDistorter(DistortionSpec("99", 1))


@pytest.mark.parametrize(
    ("spec", "key", "draws"),
    [
        (
            DistortionSpec("12", 4, 11),
            "11|12|4|wrist|1700000000123456789",
            [2701849876, 3895647832, 3513353209],
        ),
        (DistortionSpec("03", 4, 11), "11|03|4|*|1700000000123456789", [2831248246, 610941564, 4164967703]),
        (DistortionSpec("12", 4, 11, frozen=True), "11|12|4|wrist|-1", [2068082443, 1351544949, 3221985113]),
    ],
)
def test_the_stream_is_that_of_the_hashed_key_for_ever(spec: DistortionSpec, key: str, draws: list[int]):
    """Numbers that were drawn once: stored images are made again from the seed alone."""
    assert frame_generator(spec, "wrist", STAMP_NS).integers(0, 2**32, 3).tolist() == draws
    entropy = int.from_bytes(blake2b(key.encode(), digest_size=16).digest(), "little")
    assert np.random.Generator(np.random.PCG64(entropy)).integers(0, 2**32, 3).tolist() == draws


SCHEDULES = (
    "burst:start=0.2,length=0.3,every=0.7",
    "ramp:start=0.1",
    "flicker",
    "markov:on=0.1,off=0.2,seed=3",
)


@given(st.sampled_from(SCHEDULES), st.integers(0, 2**62), st.integers(-(10**8), 10**10), st.integers(1, 5))
def test_a_level_of_a_schedule_gives_the_image_of_that_level_alone(
    schedule: str, origin_ns: int, elapsed_ns: int, level: int
) -> None:
    """It depends on the time since the origin; level 0 is the untouched image itself."""
    image = np.full((16, 16, 3), 90, np.uint8)
    spec = DistortionSpec("12", level, 7, schedule=schedule)
    distorter = FrameDistorter(spec, origin_ns)
    stamp_ns = origin_ns + elapsed_ns
    now = distorter.level_at(stamp_ns)
    assert now == spec.level_at(elapsed_ns) == FrameDistorter(spec, 0).level_at(elapsed_ns)
    made = distorter.apply(image, "top", stamp_ns)
    if now == 0:
        assert made is image
    else:
        alone = FrameDistorter(DistortionSpec("12", now, 7)).apply(image, "top", stamp_ns)
        assert made.tobytes() == alone.tobytes()


def test_a_schedule_has_one_wording() -> None:
    short = DistortionSpec("19", 5, schedule=" burst: length=1 ")
    assert short == DistortionSpec("19", 5, schedule="burst:start=1.0,length=1.0,every=0.0")
    assert DistortionSpec("19", 5, schedule=" ") == DistortionSpec("19", 5)
    with pytest.raises(UsageError, match=r"unknown schedule.*'pulse'.*available: burst"):
        DistortionSpec("19", 5, schedule="pulse")

"""Metrics and distortions are called with images as people hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

import embodied_iqa
from embodied_iqa import InputError, UsageError
from embodied_iqa.quality.metrics.ms_ssim import ms_ssim
from embodied_iqa.quality.metrics.psnr import psnr

RNG = np.random.default_rng(42)
REFERENCES = RNG.integers(0, 256, (3, 40, 48, 3), dtype=np.uint8)
DISTORTED = np.clip(REFERENCES.astype(np.int16) + RNG.integers(-20, 21, REFERENCES.shape), 0, 255).astype(
    np.uint8
)
EXPECTED = [psnr(*pair) for pair in zip(REFERENCES, DISTORTED, strict=True)]


def test_a_metric_is_called_by_pyiqas_name() -> None:
    pair = np.repeat(np.repeat(DISTORTED[0], 5, 0), 4, 1), np.repeat(np.repeat(REFERENCES[0], 5, 0), 4, 1)
    value = embodied_iqa.metric("ms_ssim")(*pair)
    assert isinstance(value, float)
    assert value == ms_ssim(pair[1], pair[0])
    assert embodied_iqa.metric("MS_SSIM").info.name == "ms-ssim"
    assert embodied_iqa.metric("ssimc").info.name == "ssim"
    assert embodied_iqa.metric("gmsd_color").info.name == "gmsd-colour"
    assert embodied_iqa.metric("gmsd").lower_better
    assert embodied_iqa.metric("GMSD_colour:64x48").info.name == "gmsd-colour:64x48"


def test_arrays_are_taken_in_every_type_single_or_batched() -> None:
    metric = embodied_iqa.metric("psnr")
    assert metric(DISTORTED[0], REFERENCES[0]) == EXPECTED[0]
    for kind in (np.float32, np.float64):
        floats = (DISTORTED / 255).astype(kind), (REFERENCES / 255).astype(kind)
        assert metric(floats[0][1], floats[1][1]) == EXPECTED[1]
        values = metric(*floats)
        assert values.dtype == np.float64
        assert values.tolist() == EXPECTED
    assert metric(np.moveaxis(DISTORTED, -1, 1), REFERENCES).tolist() == EXPECTED
    one = metric(DISTORTED, REFERENCES[0])  # one reference for the batch
    assert one.tolist() == [psnr(REFERENCES[0], image) for image in DISTORTED]
    assert metric(DISTORTED[:1], REFERENCES[:1]).shape == (1,)
    assert embodied_iqa.measure(DISTORTED, REFERENCES, "psnr").tolist() == EXPECTED
    assert embodied_iqa.measure(DISTORTED[0], metric=embodied_iqa.metric("piqe")) >= 0.0


def test_tensors_are_taken_and_answered_with_tensors() -> None:
    torch = pytest.importorskip("torch")
    metric = embodied_iqa.metric("psnr")
    bytes_ = [torch.from_numpy(np.moveaxis(images, -1, 1).copy()) for images in (DISTORTED, REFERENCES)]
    assert metric(bytes_[0][0], bytes_[1][0]) == EXPECTED[0]
    for kind in (torch.float32, torch.float64):
        floats = [(images.to(kind) / 255).requires_grad_() for images in bytes_]
        values = metric(*floats)
        assert isinstance(values, torch.Tensor)
        assert values.tolist() == pytest.approx(EXPECTED, rel=1e-6)
        assert not values.requires_grad
    assert metric(bytes_[0].movedim(1, -1), REFERENCES).tolist() == pytest.approx(EXPECTED, rel=1e-6)
    half = bytes_[0].to(torch.bfloat16) / 255  # has other values, but is taken
    assert metric(half, half).tolist() == [float("inf")] * 3
    noisy = embodied_iqa.distort(floats[0], "12:2", seed=3)
    assert (noisy.shape, noisy.dtype) == (floats[0].shape, torch.float64)
    assert (noisy * 255).round().to(torch.uint8).movedim(1, -1).numpy().tolist() == embodied_iqa.distort(
        DISTORTED, "12:2", seed=3
    ).tolist()


def test_a_batch_is_distorted_as_its_images_are(tmp_path: Path) -> None:
    whole = embodied_iqa.distort(DISTORTED, "white_noise:3", seed=5)
    single = [embodied_iqa.distort(image, "white-noise:3", seed=5) for image in DISTORTED]
    assert np.array_equal(whole, single)
    floats = embodied_iqa.distort((DISTORTED / 255).astype(np.float32), "white-noise:3", seed=5)
    assert floats.dtype == np.float32
    assert np.array_equal(np.rint(floats * 255), whole)
    cv2.imwrite(str(tmp_path / "a.png"), DISTORTED[0][..., ::-1])
    assert np.array_equal(embodied_iqa.distort(tmp_path / "a.png", "white-noise:3", seed=5), single[0])
    assert embodied_iqa.metric("psnr")(str(tmp_path / "a.png"), REFERENCES[0]) == EXPECTED[0]


def test_a_region_is_distorted_in_the_types_of_other_images() -> None:
    mask = np.zeros((40, 48), np.bool_)
    mask[:20] = True

    def mixed(image: object) -> np.ndarray:
        rng = np.random.default_rng(3)
        found: np.ndarray = embodied_iqa.distort_region(image, "12", mask, inside=4, outside=0, rng=rng)
        return found

    expected = mixed(REFERENCES[0])
    assert not np.array_equal(expected, REFERENCES[0])
    floats = mixed(REFERENCES[0] / 255)
    assert floats.dtype == np.float64
    assert np.array_equal(np.rint(floats * 255), expected)
    assert np.array_equal(mixed(REFERENCES)[0], expected)
    assert mixed(REFERENCES).shape == REFERENCES.shape


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            DISTORTED[0].astype(np.float32),
            "outside the range of images; expected 0 to 1, or uint8; got '0 to 255'",
        ),
        (np.full((40, 48, 3), np.nan), "outside the range of images"),
        (np.full((40, 48, 3), -0.1), "outside the range of images"),
        (DISTORTED[0].astype(np.uint16), r"not an image; .* got \(40, 48, 3\) uint16"),
        (DISTORTED[0, ..., 0], r"not an image; .* got \(40, 48\) uint8"),
        (DISTORTED[..., :2], r"not an image; .* got \(3, 40, 48, 2\) uint8"),
        (DISTORTED[0, ..., 0], r"grey a: np\.stack\(\[a\] \* 3, -1\); got"),
        (DISTORTED[..., :1], r"grey a: np\.repeat\(a, 3, -1\); got"),
        (DISTORTED[0].astype(np.uint16), "16 bits a: a / 65535; got"),
        (np.concatenate([DISTORTED, DISTORTED[..., :1]], -1), r"RGBA a: a\[\.\.\., :3\]; got"),
        ("no-such.png", "no-such.png"),
        ("", "not an image; expected the path of a file; got ''"),
        (None, "not an image"),
    ],
)
def test_what_is_no_image_is_named(image: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embodied_iqa.metric("piqe")(image)


def test_an_image_of_pillow_is_answered_with_one() -> None:
    image = Pillow.fromarray(DISTORTED[0])
    found = embodied_iqa.distort(image, "white-noise:3", seed=5)
    assert (type(found), found.mode) == (Pillow.Image, "RGB")
    assert np.array_equal(found, embodied_iqa.distort(DISTORTED[0], "white-noise:3", seed=5))
    for mode in ("P", "L", "RGBA", "CMYK", "HSV"):
        with pytest.raises(InputError, match=rf'not RGB; expected image.convert\("RGB"\); got mode {mode}'):
            embodied_iqa.distort(image.convert(mode), "white-noise:3")
    with pytest.raises(InputError, match=r"expected np.stack\(.*; got mode F"):
        embodied_iqa.distort([image.convert("F")], "white-noise:3")
    assert embodied_iqa.metric("psnr")([image] * 2, [REFERENCES[0]] * 2).tolist() == [EXPECTED[0]] * 2


def test_lists_of_tensors_and_masks_as_tensors_are_taken() -> None:
    torch = pytest.importorskip("torch")
    images, references = (
        [torch.from_numpy(np.moveaxis(one, -1, 0).copy()) for one in batch]
        for batch in (DISTORTED, REFERENCES)
    )
    found = embodied_iqa.metric("psnr")(images, references)
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == pytest.approx(EXPECTED, rel=1e-6)
    for unlike in ([images[0], images[1][:, :20]], [DISTORTED[0], DISTORTED[1, :20]]):
        with pytest.raises(InputError, match="a list is no batch; expected images of one kind and size"):
            embodied_iqa.metric("piqe")(unlike)

    def mixed(mask: object) -> np.ndarray:
        rng = np.random.default_rng(3)
        return np.asarray(embodied_iqa.distort_region(DISTORTED[0], "12", mask, inside=4, outside=0, rng=rng))

    mask = np.zeros((40, 48), np.float32)
    mask[:20], mask[20:] = 1.0, -1.0
    assert np.array_equal(mixed(torch.from_numpy(mask)), mixed(mask > 0))
    with pytest.raises(InputError, match=r"not a mask; expected \(H, W\), true or above 0 inside; got \(\)"):
        mixed(None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: embodied_iqa.metric(None), "not a metric; expected the name of .*; got NoneType"),
        (lambda: embodied_iqa.measure(DISTORTED, REFERENCES, ["ssim", "psnr"]), "not a metric; .*; got list"),
        (lambda: embodied_iqa.distort(DISTORTED, 12), "a number or name, a colon and a level; .*; got 12"),
        (lambda: embodied_iqa.distortion(12), "a number or name; expected such as '02'; got 12"),
        (lambda: noisy(seed="a"), "seed out of range; expected a whole number, .*; got 'a'"),
        (lambda: noisy(seed=1.5), r"seed out of range; .*; got 1\.5"),
        (lambda: noisy(seed=True), "seed out of range; .*; got True"),
        (lambda: noisy(view=None), "not a view; expected the name of a camera; got NoneType"),
        (lambda: noisy(stamp_ns=1.0), r"not a stamp; expected a whole number of nanoseconds; got 1\.0"),
        (lambda: regional(inside=6), "unknown distortion level; got 6; available: 0, 1, 2, 3, 4, 5"),
        (lambda: regional(inside=2.0), "unknown distortion level"),
        (lambda: regional(rng=None), "rng is no generator; .*; got NoneType"),
    ],
)
def test_another_type_of_argument_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def noisy(**changed: Any) -> Any:
    return embodied_iqa.distort(DISTORTED[0], "12:3", **changed)


def regional(**changed: Any) -> Any:
    mask = np.ones((40, 48), np.bool_)
    words = {"inside": 1, "outside": 0, "rng": np.random.default_rng(3), **changed}
    return embodied_iqa.distort_region(DISTORTED[0], "12", mask, **words)


def test_integers_of_numpy_make_the_same_noise() -> None:
    plain = noisy(seed=3, stamp_ns=5)
    assert np.array_equal(noisy(seed=np.int64(3), stamp_ns=np.int64(5)), plain)


def test_references_that_do_not_fit_are_named() -> None:
    metric = embodied_iqa.metric("psnr")
    with pytest.raises(InputError, match="psnr compares with a reference"):
        metric(DISTORTED)
    with pytest.raises(InputError, match="differ in number; expected 1 or 3; got 2"):
        metric(DISTORTED, REFERENCES[:2])
    with pytest.raises(InputError, match="the two images differ in size"):
        metric(DISTORTED, REFERENCES[0, :-1])


def test_names_are_listed_and_each_of_them_works() -> None:
    names = embodied_iqa.list_metrics()
    assert {"psnr", "ms-ssim", "niqe"} <= set(names)
    full, none = (embodied_iqa.list_metrics(needs) for needs in ("reference", "nothing"))
    assert sorted([*full, *none]) == sorted(names)
    assert [embodied_iqa.metric(name).info.name for name in names] == names
    with pytest.raises(UsageError, match="not what a metric needs; got 'FR'; available: reference, nothing"):
        embodied_iqa.list_metrics("FR")
    distortions = embodied_iqa.list_distortions()
    assert len(distortions) == len(set(distortions)) == 40
    assert [embodied_iqa.distortion(name).id for name in distortions[:2]] == ["01", "02"]
    for name in distortions:
        assert embodied_iqa.distort(DISTORTED[0], f"{name}:1").shape == (40, 48, 3)


def test_a_reference_that_is_ignored_is_a_warning() -> None:
    image = np.repeat(np.repeat(DISTORTED[0], 5, 0), 4, 1)
    alone = embodied_iqa.metric("niqe")(image)
    with pytest.warns(UserWarning, match="niqe takes no reference: the one given is ignored") as seen:
        assert embodied_iqa.metric("niqe")(image, image) == alone
    assert seen[0].filename == __file__


def test_a_hyphen_does_not_count_in_a_mistyped_name() -> None:
    with pytest.raises(UsageError, match=r"did you mean ms-ssim\?"):
        embodied_iqa.metric("mssim")


def test_swapped_arguments_are_named_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"second argument is the distortion; .*image first; got ndarray$"):
        embodied_iqa.distort("15:3", DISTORTED[0])
    with pytest.raises(UsageError, match="second argument is the reference; expected metric='ms_ssim'"):
        embodied_iqa.measure(DISTORTED[0], "ms_ssim")


def test_gmsd_color_is_gmsd_colour() -> None:
    assert embodied_iqa.metric("gmsd-color").info.name == "gmsd-colour"

"""Images as people hold them, one or a batch: arrays, tensors and files; inside `(H, W, 3)` uint8 RGB."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import Description, InputError
from embodied_iqa.imaging.images.codecs import read_image

Image = NDArray[np.uint8]

_EXPECTED: Final = (
    "RGB as (H, W, 3) or (N, H, W, 3) of an array, (3, H, W) or (N, 3, H, W) of a tensor; "
    "uint8, or floats from 0 to 1"
)


@dataclass(frozen=True, slots=True, eq=False)
class ImageBatch:
    """Images of one argument, and how to answer in the kind that they came in.

    Attributes:
        images: ``(H, W, 3)`` uint8 RGB each; a single one unless it is a batch.
        is_batch: The argument had an axis of images, of whatever length.
        channels_first: The argument's channels come before its rows.
        source: The argument, as an array or a torch tensor.
        is_pillow: It was an image of Pillow.
    """

    images: tuple[Image, ...]
    is_batch: bool
    channels_first: bool
    source: Any
    is_pillow: bool = False

    def values(self, numbers: Sequence[float]) -> Any:
        """Return one number for each image: a float, or of a batch ``(N,)``, a tensor on the same device."""
        if not self.is_batch:
            return float(numbers[0])
        if not _is_tensor(self.source):
            return np.array(numbers, np.float64)
        torch = _torch()
        return torch.tensor(list(numbers), dtype=torch.get_default_dtype(), device=self.source.device)

    def like(self, images: Sequence[Image]) -> Any:
        """Return images of the same sizes as an array or tensor of the argument's kind, order and type."""
        pixels: NDArray[Any] = np.stack(images) if images else np.asarray(self.source).astype(np.uint8)
        if self.channels_first and images:
            pixels = np.moveaxis(pixels, -1, -3)
        pixels = pixels if self.is_batch else pixels[0]
        if self.is_pillow:
            return sys.modules["PIL.Image"].fromarray(pixels)
        if not _is_tensor(self.source):
            is_float = np.issubdtype(self.source.dtype, np.floating)
            return (pixels / 255.0).astype(self.source.dtype) if is_float else pixels
        tensor = _torch().as_tensor(np.ascontiguousarray(pixels))
        tensor = tensor / 255.0 if self.source.is_floating_point() else tensor
        return tensor.to(device=self.source.device, dtype=self.source.dtype)


def image_batch(argument: Any) -> ImageBatch:
    """Return the images of an argument of the Python interface.

    Args:
        argument: One RGB image or a batch: an array with the channels last, a torch tensor with the channels
            first (the other order where only that fits), uint8 or floats from 0 to 1, which are rounded to 8
            bits; an image of Pillow; or the path of a file.

    Raises:
        InputError: Another type, shape or range, or the file is not an image.
    """
    if isinstance(argument, str | Path):
        argument = _file(argument)
    if isinstance(argument, list | tuple):
        argument = _stacked(argument)
    is_tensor, is_pillow = _is_tensor(argument), _is_pillow(argument)
    if is_pillow:
        _check_mode(argument)
    source = argument if is_tensor else np.asarray(argument)
    pixels = _array(source) if is_tensor else source
    if pixels.ndim not in {3, 4}:
        raise _no_image(pixels)
    channels_first = _has_channels_first(pixels, usual=is_tensor)
    ordered = np.moveaxis(pixels, -3, -1) if channels_first else pixels
    is_batch = ordered.ndim == 4
    images = tuple(_bytes(image) for image in (ordered if is_batch else ordered[None]))
    return ImageBatch(images, is_batch, channels_first, source, is_pillow)


def mask_of(argument: Any) -> NDArray[np.bool_]:
    """Return where a mask, an array or a tensor, is true or above 0.

    Raises:
        InputError: It holds anything but numbers.
    """
    mask = _array(argument) if _is_tensor(argument) else np.asarray(argument)
    if mask.dtype.kind not in "buif":
        got = Description(f"{mask.shape} {mask.dtype}")
        raise InputError("not a mask", expected="(H, W), true or above 0 inside", got=got)
    return np.asarray(mask > 0)


def _file(path: str | Path) -> Image:
    if not str(path):
        raise InputError("not an image", expected="the path of a file", got=path)
    return read_image(Path(path))


def _stacked(images: Sequence[Any]) -> Any:
    """Return the images of a list as one tensor or array."""
    for image in filter(_is_pillow, images):
        _check_mode(image)
    try:
        if images and all(map(_is_tensor, images)):
            return _torch().stack(list(images))
        return np.asarray(images)
    except (RuntimeError, TypeError, ValueError):
        raise InputError("a list is no batch", expected="images of one kind and size") from None


def _check_mode(image: Any) -> None:
    """Refuse an image of Pillow that is not RGB: its numbers are places in a palette, or of other colours."""
    if image.mode == "RGB":
        return
    remedy = 'image.convert("RGB")'
    if image.mode.startswith(("I", "F")):
        remedy = "np.stack([a] * 3, -1) of its values a, as floats from 0 to 1"
    raise InputError("an image of Pillow is not RGB", expected=remedy, got=Description(f"mode {image.mode}"))


def _no_image(pixels: NDArray[Any]) -> InputError:
    """Return the error for an array of another form, with what makes an image of it."""
    remedies = list[str]()
    if pixels.ndim == 2:
        remedies.append("grey a: np.stack([a] * 3, -1)")
    elif pixels.ndim in {3, 4} and pixels.shape[-1] == 1:
        remedies.append("grey a: np.repeat(a, 3, -1)")
    elif pixels.ndim in {3, 4} and pixels.shape[-1] == 4:
        remedies.append("RGBA a: a[..., :3]")
    if pixels.dtype == np.uint16:
        remedies.append("16 bits a: a / 65535")
    expected = "; ".join([_EXPECTED, *remedies])
    return InputError("not an image", expected=expected, got=Description(f"{pixels.shape} {pixels.dtype}"))


def _is_tensor(value: object) -> bool:
    """Whether it is a torch tensor; torch is not imported: who has a tensor has done so."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_pillow(value: object) -> bool:
    """Whether it is an image of Pillow, which is not imported either."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def _torch() -> Any:
    return sys.modules["torch"]


def _array(tensor: Any) -> NDArray[Any]:
    """Return a tensor's values on the processor, without gradients; NumPy has no bfloat16."""
    plain = tensor.detach().cpu()
    array: NDArray[Any] = (plain.float() if plain.is_floating_point() else plain).numpy()
    return array


def _has_channels_first(pixels: NDArray[Any], *, usual: bool) -> bool:
    """Return the order of the axes: the usual one where it fits, the other one where only that does."""
    first, last = pixels.shape[-3] == 3, pixels.shape[-1] == 3
    if not first and not last:
        raise _no_image(pixels)
    return first if first != last else usual


def _bytes(image: NDArray[Any]) -> Image:
    """Return an image as contiguous uint8.

    Raises:
        InputError: Another type, or values outside the range.
    """
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    if not np.issubdtype(image.dtype, np.floating):
        raise _no_image(image)
    levels = np.rint(image.astype(np.float64) * 255.0)
    if image.size and not (levels.min() >= 0.0 and levels.max() <= 255.0):  # what is not a number fails, too
        found = f"{image.min():g} to {image.max():g}"
        raise InputError("floats outside the range of images", expected="0 to 1, or uint8", got=found)
    return np.ascontiguousarray(levels.astype(np.uint8))

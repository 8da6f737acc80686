"""Images in the observation of a policy's client, by key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import Description, InputError, UsageError
from embodied_iqa.imaging.images.frame import View, parse_view

_TURNED: Final = "rot180"
_CHANNELS: Final = 3
_MOST_PX: Final = 8192
_IMAGE_SIZE: Final = 1024
"""No state of a robot has as many numbers, no prompt as many characters."""
_MOST_VALUES: Final = 20_000
"""Values of an observation besides the elements of arrays."""


@dataclass(frozen=True, slots=True)
class ProxyCamera:
    """An image of the observations.

    Attributes:
        key: Its key; a slash also stands for a level of nested maps.
        view: The camera in the gate's calibration.
        turned: The client sends it rotated by 180 degrees, as it is done for LIBERO.
    """

    key: str
    view: View
    turned: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the camera of ``KEY=VIEW`` or ``KEY=VIEW:rot180``.

        Raises:
            UsageError: Another form.
        """
        key, _, rest = text.rpartition("=")
        name, colon, turn = rest.partition(":")
        if not key or (colon and turn != _TURNED):
            raise UsageError("wrong --view", expected=f"KEY=VIEW or KEY=VIEW:{_TURNED}", got=text)
        return cls(key, parse_view(name), bool(colon))


def values_of(observation: Mapping[Any, Any]) -> dict[str, list[Any]]:
    """Return the values of an observation by their keys, those of nested maps joined by slashes.

    A key with several values is ambiguous: ``{"a/b": 1, "a": {"b": 2}}``.

    Raises:
        InputError: There are too many values.
    """
    found: dict[str, list[Any]] = {}
    for count, (key, value) in enumerate(islice(_walk("", observation), _MOST_VALUES + 1)):
        if count == _MOST_VALUES:
            raise InputError("the observation has too many values", expected=f"at most {_MOST_VALUES}")
        found.setdefault(key, []).append(value)
    return found


def one_value(values: Mapping[str, list[Any]], key: str) -> Any:
    """Return the value of a key.

    Raises:
        InputError: There is none, or more than one.
    """
    found = values.get(key, [])
    if len(found) > 1:
        raise InputError(f"{key} is ambiguous: it has {len(found)} values")
    if f"{key}/0" in values and not found:
        raise InputError(f"{key} is not one value", expected="an array", got=Description("a list"))
    if not found:
        raise InputError(f"the observation has no {key}", available=sorted(values)[:20])
    return found[0]


def image_of(value: object, camera: ProxyCamera) -> NDArray[np.uint8]:
    """Return an image as the camera took it: ``(H, W, 3)`` uint8, upright.

    Args:
        value: ``(H, W, 3)`` or ``(3, H, W)`` uint8, red first.
        camera: Says how it is turned.

    Raises:
        InputError: It is not such an image.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != _CHANNELS:
        got = (
            Description(f"{value.shape} {value.dtype}")
            if isinstance(value, np.ndarray)
            else type(value).__name__
        )
        raise InputError(f"{camera.key} is not an image", expected="(H, W, 3) or (3, H, W) uint8", got=got)
    rgb = value.transpose(1, 2, 0) if value.shape[0] == _CHANNELS != value.shape[2] else value
    if rgb.shape[2] != _CHANNELS or not 0 < min(rgb.shape) <= max(rgb.shape) <= _MOST_PX:
        raise InputError(
            f"{camera.key} is not an image", expected=f"3 channels, 1 to {_MOST_PX} px", got=str(value.shape)
        )
    return np.ascontiguousarray(rgb[::-1, ::-1] if camera.turned else rgb)


def unjudged(values: Mapping[str, list[Any]], known: Collection[str]) -> str | None:
    """Return the key of an image that has no camera, None where there is none.

    Args:
        values: The observation, see `values_of`.
        known: Keys of the cameras, and those of what may pass without a judgement.
    """
    sizes: dict[str, int] = {}
    for key, found in values.items():
        whole = _list_of(key)
        if key in known or whole in known:
            continue
        if any(isinstance(value, np.ndarray) and value.ndim >= _CHANNELS for value in found):
            return key
        sizes[whole] = sizes.get(whole, 0) + sum(map(_size, found))
        if sizes[whole] >= _IMAGE_SIZE:
            return whole
    return None


def _list_of(key: str) -> str:
    """Return the key of the outermost list that holds a value; that of the value itself outside of lists."""
    parts = key.split("/")
    first = next((place for place, part in enumerate(parts) if part.isdecimal()), 0)
    return "/".join(parts[:first]) or key


def _size(value: object) -> int:
    """Return the number of bytes, characters or numbers of a value: pixels of any layout, encoded or not."""
    if isinstance(value, bytes | str):
        return len(value)
    return value.size if isinstance(value, np.ndarray) else 1


def _walk(path: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield keys and values; a key that is not text is shown as Python writes it, and equals no text."""
    if isinstance(value, Mapping):
        items = [(key if isinstance(key, str) else repr(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        yield path, value
        return
    for key, item in items:
        yield from _walk(f"{path}/{key}" if path else key, item)

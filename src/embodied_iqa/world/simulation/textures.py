"""Procedural textures of table and floor: seamless, and the same on every machine.

To draw all of them takes 1.4 s, so what one process has drawn is kept for the next ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from itertools import pairwise, product
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.base.user_folders import cache_folder

Array = NDArray[np.float64]

_SIZE_PX: Final = 1024


@cache
def texture(name: str) -> NDArray[np.uint8]:
    """Return a texture as ``(H, W, 3)`` uint8 RGB; read-only.

    It is kept in ``~/.cache/embodied-iqa/textures``, as its bytes. A kept file counts only with the known
    SHA-256: a damaged one, or one of another version, is drawn anew.
    """
    kept, texels = None, b""
    with suppress(OSError, RuntimeError):  # such as none kept, and a user without a home
        kept = cache_folder() / "textures" / f"{name}.rgb"
        texels = kept.read_bytes()
    if sha256(texels).hexdigest() != _DIGESTS[name]:
        texels = _draw(name)
        if kept and sha256(texels).hexdigest() == _DIGESTS[name]:
            _keep(texels, kept)
    side_px = math.isqrt(len(texels) // 3)
    return np.frombuffer(texels, np.uint8).reshape(side_px, side_px, 3)


def _draw(name: str) -> bytes:
    draw, colour = _TEXTURES[name]
    drawn = draw()
    light = drawn if drawn.ndim > 2 else drawn[..., None]
    return np.asarray(np.clip(255 * light * np.array(colour), 0, 255), dtype=np.uint8).tobytes()


def _keep(texels: bytes, file: Path) -> None:
    with suppress(InputError):  # a full disk, or a folder that nobody may write to
        write_whole(file, lambda fresh: fresh.write_bytes(texels))


def _boards(seed: int, boards: int, contrast: float) -> Array:
    """Draw boards with grain along x."""
    rng = np.random.default_rng(seed)
    image = np.empty((_SIZE_PX, _SIZE_PX), np.float64)
    edges = np.linspace(0, _SIZE_PX, boards + 1).astype(int)
    along = np.linspace(0, 2 * np.pi, _SIZE_PX, endpoint=False)
    for top, bottom in pairwise(edges):
        across = np.arange(bottom - top)[:, None]
        wave = 6.0 * np.sin(along + rng.uniform(0, 6.28)) + 3.0 * np.sin(2 * along + rng.uniform(0, 6.28))
        grain = np.sin((across + wave) * 0.21 + 2.0 * np.sin((across + wave) * 0.047))
        noise = rng.normal(0.0, 1.0, (bottom - top, _SIZE_PX))
        fine = cv2.blur(noise, (61, 1), borderType=cv2.BORDER_REFLECT_101) * 8
        image[top:bottom] = (
            0.93 + rng.uniform(-0.03, 0.03) + contrast * (0.022 * grain + 0.012 * np.asarray(fine))
        )
        image[bottom - 2 : bottom] *= 0.84
    return image


def _clouds(seed: int, sizes_px: tuple[int, ...]) -> Array:
    """Return smooth seamless noise, the mean of blurred noise of several sizes, with spread 1."""
    rng = np.random.default_rng(seed)
    total = np.zeros((_SIZE_PX, _SIZE_PX))
    down, right = np.fft.fftfreq(_SIZE_PX)[:, None], np.fft.rfftfreq(_SIZE_PX)
    for size_px in sizes_px:
        noise = np.fft.rfft2(rng.normal(0.0, 1.0, (_SIZE_PX, _SIZE_PX)))
        noise *= np.exp(-((down * size_px * 2) ** 2))
        noise *= np.exp(-((right * size_px * 2) ** 2))
        layer = np.fft.irfft2(noise)
        total += layer / layer.std()
    return np.asarray(total / total.std())


def _sandstone() -> Array:
    rng = np.random.default_rng(3)
    speckle = cv2.blur(rng.normal(0.0, 1.0, (_SIZE_PX, _SIZE_PX)), (3, 3))
    return 0.86 + 0.035 * _clouds(31, (160, 60, 18)) + 0.03 * np.asarray(speckle)


def _marble() -> Array:
    phase = np.linspace(0, 2 * np.pi, _SIZE_PX, endpoint=False)
    bend = 1.1 * _clouds(41, (220, 90, 40))
    vein = np.abs(np.sin(phase[None, :] + 2 * phase[:, None] + bend))
    thin = np.exp(-((vein / 0.045) ** 2)) * np.clip(0.6 + 0.4 * _clouds(43, (120,)), 0.0, 1.0)
    return 0.97 + 0.012 * _clouds(42, (120, 50)) - 0.26 * thin


def _linen() -> Array:
    rng = np.random.default_rng(5)
    threads = np.arange(_SIZE_PX)
    warp = np.sin(threads * 2 * np.pi / 8)[None, :] + 0.7 * rng.normal(0, 1, (1, _SIZE_PX))
    weft = np.sin(threads * 2 * np.pi / 8)[:, None] + 0.7 * rng.normal(0, 1, (_SIZE_PX, 1))
    check = ((threads // 128) % 2)[None, :] + ((threads // 128) % 2)[:, None]
    return 0.95 - 0.085 * check + 0.016 * (warp + weft)


def _tartan() -> Array:
    """Draw a woven cloth of crossing bands in three colours."""
    colours = np.array([[0.86, 0.84, 0.78], [0.62, 0.70, 0.66], [0.74, 0.58, 0.52], [0.50, 0.54, 0.62]])
    widths = np.array([(0, 34), (1, 10), (0, 6), (2, 16), (0, 6), (1, 10), (0, 34), (3, 12)])
    bands = np.repeat(widths[:, 0], widths[:, 1])
    sett = colours[np.resize(bands, _SIZE_PX)]
    y, x = np.mgrid[0:_SIZE_PX, 0:_SIZE_PX]
    over = ((x + y) // 2 % 2 == 0)[..., None]
    woven = np.where(over, sett[None], sett[:, None])
    return np.asarray(cv2.GaussianBlur(woven, (0, 0), 0.8)) + 0.015 * _clouds(51, (3,))[..., None]


def _terrazzo() -> Array:
    """Draw polished chips of many sizes and tones in cement."""
    rng = np.random.default_rng(61)
    image = np.full((_SIZE_PX, _SIZE_PX, 3), 0.80) + 0.01 * _clouds(62, (60, 9))[..., None]
    # a chip goes on at the opposite edge
    repeats = np.array(list(product((-_SIZE_PX, 0, _SIZE_PX), repeat=2)))
    for _ in range(2600):
        size, turn = float(rng.gamma(2.0, 3.2)) + 2.0, float(rng.uniform(0, 2 * np.pi))
        corners = np.sort(rng.uniform(0, 2 * np.pi, 6)) + turn
        radii = size * rng.uniform(0.6, 1.0, 6)
        centre = rng.uniform(0, _SIZE_PX, 2)
        tone = float(rng.uniform(0.45, 1.0)) * (1 + rng.uniform(-0.08, 0.08, 3))
        shape = radii[:, None] * np.stack([np.cos(corners), np.sin(corners)], axis=1)
        places = centre + repeats
        for at in places[((places > -40) & (places < _SIZE_PX + 40)).all(axis=1)]:
            cv2.fillConvexPoly(image, np.rint(at + shape).astype(np.int32), tone.tolist())
    return image


def _tiles() -> Array:
    rng = np.random.default_rng(7)
    image = np.clip(rng.normal(122, 4, (256, 256)), 0, 255).astype(np.uint8) / 255.0
    image[:3], image[:, :3] = 96 / 255, 96 / 255
    return image


_TEXTURES: Final[dict[str, tuple[Callable[[], Array], tuple[float, float, float]]]] = {
    "wood": (partial(_boards, 20240517, 6, 1.0), (1.0, 0.985, 0.955)),
    "oak": (partial(_boards, 11, 10, 1.9), (0.97, 0.91, 0.83)),
    "sandstone": (_sandstone, (1.0, 0.985, 0.955)),
    "marble": (_marble, (1.0, 0.985, 0.96)),
    "linen": (_linen, (0.93, 0.965, 1.0)),
    "tartan": (_tartan, (1.0, 1.0, 1.0)),
    "terrazzo": (_terrazzo, (1.0, 0.99, 0.97)),
    "tiles": (_tiles, (1.0, 1.0, 1.0)),
}
"""Brightness ``(H, W)`` or colour ``(H, W, 3)`` about [0, 1], and the colour it is multiplied with."""

_DIGESTS: Final = {
    "wood": "6604b10a6b8a69e0d7ce73fc26b5ebcd281b85a3e5decefc8d8edac583d651dd",
    "oak": "4e752c6c41befca97ec8bffefe56efce969660752c87a745bf643ff1d631d8b6",
    "sandstone": "8025f608f54bcdfb7152605d0dc12fe2007c71efc50bad9c2be1e4ded7e9a3ea",
    "marble": "2d482441d8bf562128b842635d7b57f8bc7c3f4e3f0def4c3f8bc87054c49de8",
    "linen": "9aecf7db72642de5d67e14e1e23b04de2f152fc11bf6a5839c516b8c03e17054",
    "tartan": "7d535008d97f3608b0769f476bd04459499bd51c394c86fa7792810e0d55e026",
    "terrazzo": "435b852b6adff0d4eb904bf7e2fdcc15e80d3e5b43534ffbc300419d02a22532",
    "tiles": "98b467f5b866a90ae68f1e9428d42f57c4cb077422c1f999c00a9565889fb162",
}
"""SHA-256 of the texels, row by row; where a processor rounds otherwise, nothing is kept."""

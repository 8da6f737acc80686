"""Files whose header claims more pixels than they hold are damaged; whole files are not."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.header_size import claims_too_much, png_damage

PARAMETERS = {
    ".png": [[cv2.IMWRITE_PNG_COMPRESSION, 9], [cv2.IMWRITE_PNG_BILEVEL, 1]],
    ".jpg": [
        [cv2.IMWRITE_JPEG_QUALITY, 1],
        [cv2.IMWRITE_JPEG_QUALITY, 1, cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_OPTIMIZE, 1],
    ],
}


@pytest.mark.parametrize("shape", [(1, 1), (240, 320, 3), (2000, 3000), (2000, 3000, 3)])
@pytest.mark.parametrize("suffix", PARAMETERS)
def test_the_smallest_whole_files_are_whole(suffix: str, shape: tuple[int, ...]) -> None:
    for parameters in PARAMETERS[suffix]:
        if cv2.IMWRITE_PNG_BILEVEL in parameters[::2] and len(shape) == 3:
            continue  # one bit a pixel is for grey images
        done, data = cv2.imencode(suffix, np.zeros(shape, np.uint8), parameters)
        assert done
        assert not claims_too_much(data.tobytes())


@pytest.mark.parametrize("suffix", PARAMETERS)
def test_a_file_that_claims_too_much_is_refused_before_it_is_decoded(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(cv2.imencode(suffix, np.full((24, 32, 3), 90, np.uint8))[1].tobytes())
    if suffix == ".png":
        struct.pack_into(">II", data, 16, 32_000, 32_000)

        struct.pack_into(">I", data, 29, zlib.crc32(data[12:29]))
    else:
        struct.pack_into(">HH", data, data.index(b"\xff\xc0") + 5, 32_000, 32_000)
    path = tmp_path / f"0{suffix}"
    path.write_bytes(data)
    monkeypatch.setattr(cv2, "imdecode", lambda *_: pytest.fail("it was decoded"))
    with pytest.raises(InputError, match="damaged"):
        read_image(path)


def test_a_chunk_that_claims_too_much_is_refused() -> None:
    data = bytearray(cv2.imencode(".png", np.full((24, 32, 3), 90, np.uint8))[1].tobytes())
    assert not claims_too_much(bytes(data))
    struct.pack_into(">I", data, 33, 0xFF000923)  # the chunk after the header
    assert claims_too_much(bytes(data))


def test_a_changed_byte_of_a_png_file_is_named_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of any chunk: that which says which way is up holds no pixels, and libpng would drop it."""
    path = tmp_path / "turned.png"
    exif = Pillow.Exif()
    exif[0x0112] = 6
    pixels = cv2.resize(np.random.default_rng(0).integers(0, 256, (5, 6), np.uint8), (120, 90))
    Pillow.fromarray(pixels).save(path, exif=exif)
    data = path.read_bytes()
    assert png_damage(data) == ""
    assert read_image(path).shape == (120, 90, 3)
    for at in np.random.default_rng(1).integers(8, len(data), 60):
        changed = bytearray(data)
        changed[at] ^= 0x15
        path.write_bytes(changed)
        with pytest.raises(InputError, match=r"(damaged|truncated) PNG file"):
            read_image(path)
    path.write_bytes(data.replace(b"MM\0*", b"MN\0*"))
    with pytest.raises(InputError, match="checksum of eXIf is wrong"):
        read_image(path)
    assert capfd.readouterr().err == ""


def test_other_data_claims_nothing() -> None:
    for data in (b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"\xff\xd8" + b"\xff" * 40, b"RIFF" + bytes(90)):
        assert not claims_too_much(data)

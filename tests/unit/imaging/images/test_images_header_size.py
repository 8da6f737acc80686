"""Files whose header claims more pixels than they hold are damaged; whole files are not."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.header_size import claims_too_much

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


def test_other_data_claims_nothing() -> None:
    for data in (b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"\xff\xd8" + b"\xff" * 40, b"RIFF" + bytes(90)):
        assert not claims_too_much(data)

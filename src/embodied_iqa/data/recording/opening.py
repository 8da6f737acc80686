"""Opening of recordings for reading, with one-line errors where that fails."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final
from weakref import WeakSet

import zstandard
from mcap.exceptions import McapError
from mcap.reader import SeekingReader
from mcap.stream_reader import CRCValidationError
from mcap.summary import Summary

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.yaml_files import load_yaml
from embodied_iqa.data.recording.compression import ZSTD_MAGIC
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.framing import FOOTER_BYTES, MAGIC
from embodied_iqa.data.recording.recording_names import RECORDING_SUFFIXES
from embodied_iqa.data.recording.scanned_record import summary_section
from embodied_iqa.data.recording.write_lock import is_being_written
from embodied_iqa.imaging.images.codecs import HDF5_START, HDF5_UNREAD

_DAMAGE: Final = (
    McapError,
    CRCValidationError,
    struct.error,
    UnicodeDecodeError,
    KeyError,
    ValueError,
    RuntimeError,
    MemoryError,
    OverflowError,
    zstandard.ZstdError,
)
"""Errors of the mcap library on damaged bytes."""


_METADATA: Final = "metadata.yaml"
_RECOVERED: Final = ".recovered.mcap"
"""End of the name of what `embodied-iqa recover` writes."""
_SQLITE: Final = b"SQLite format 3\0"
_NAMED: Final = 5
"""Recordings that are named where a folder of several was given."""
_DEEPEST: Final = 2
"""Levels of folders in which these are looked for: runs, and their tasks."""
_UNPACKING: Final = threading.Lock()
_UNPACKED: Final[dict[tuple[int, ...], WeakSet[BinaryIO]]] = {}
"""Unpacked files that readers have open, by what identifies the packed one."""


def recording_files(path: Path) -> tuple[Path, ...]:
    """Return the files of a recording: ``path`` itself, or those in a folder of ``ros2 bag``.

    Several files are parts of one where the metadata says so. Without metadata, as after a crash, they are
    where they have the names that ``ros2 bag`` gives: that of the folder with a number, from 0 on.

    Raises:
        RecordingReadError: The folder holds none, several that are not parts of one, or lacks a file that its
            metadata names.
    """
    if not path.is_dir():
        return (path,)
    present = {file.name: file for file in sorted(path.iterdir()) if file.name.endswith(RECORDING_SUFFIXES)}
    listed = _listed_names(path)
    files = {name: file for name in listed or _plain_names(present) if (file := _present(name, present))}
    missing = [name for name in listed if name not in files]
    if missing:
        raise RecordingReadError(path, f"lacks a file that {_METADATA} names", expected=", ".join(missing))
    if not files:
        expected = "a recording (.mcap, .db3), or a folder with one"
        below = list(islice(folders_below(path), _NAMED + 1))
        available = [*below[:_NAMED], "more"] if len(below) > _NAMED else below or ["none"]
        raise RecordingReadError(path, "is a folder", expected=expected, available=available)
    endings = {Path(name).suffix for name in files}
    parts = {f"{path.resolve().name}_{number}{end}" for number in range(len(files)) for end in endings}
    if len(files) > 1 and not listed and files.keys() != parts:
        fault = f"is a folder of several files that no {_METADATA} joins"
        expected = f"one of them, or {_METADATA} of ros2 bag"
        raise RecordingReadError(path, fault, expected=expected, available=list(present))
    return tuple(files.values())


def folders_below(path: Path, depth: int = _DEEPEST) -> Iterator[str]:
    """Yield the folders of recordings in a folder, such as one of runs, with the path for a command."""
    try:
        items = sorted(path.iterdir())
    except OSError:  # one that others may not read
        return
    for folder in (item for item in items if item.is_dir() and not item.is_symlink()):
        with suppress(OSError):
            if any(file.name.endswith(RECORDING_SUFFIXES) for file in folder.iterdir()):
                yield str(folder)
                continue
        if depth > 1:
            yield from folders_below(folder, depth - 1)


def _plain_names(names: Iterable[str]) -> list[str]:
    """Return the names of files as they are without compression and repair, each once."""
    plain = (name.removesuffix(".zstd").replace(_RECOVERED, ".mcap") for name in names)
    return list(dict.fromkeys(plain))


def _present(name: str, files: Mapping[str, Path]) -> Path | None:
    """Return a file, or rather its repaired or unpacked copy; None without any."""
    name = name.removesuffix(".zstd")
    names = (name.replace(".mcap", _RECOVERED), name, f"{name}.zstd")
    return next((files[one] for one in names if one in files), None)


def recording_file(path: Path) -> Path:
    """Return the file of a recording that stands in one file.

    Raises:
        RecordingReadError: As for `recording_files`, or there are several.
    """
    files = recording_files(path)
    if len(files) > 1:
        available = [file.name for file in files]
        raise RecordingReadError(path, "is split", expected="one of its files", available=available)
    return files[0]


def _listed_names(folder: Path) -> list[str]:
    """Return the names of the files that the metadata of ``ros2 bag`` lists; none without metadata."""
    if not (folder / _METADATA).is_file():
        return []
    try:
        content = load_yaml(folder / _METADATA, aliases=True)
    except InputError as error:
        path = folder / _METADATA
        raise RecordingReadError(path, str(error).removeprefix(f"{path}:")) from error
    match content.get("rosbag2_bagfile_information"):
        case {"relative_file_paths": list(names)}:
            return [Path(str(name)).name for name in names]
    return []


def _plain_file(path: Path, file: BinaryIO) -> BinaryIO:
    """Unpack a file that ``ros2 bag`` compressed (``--compression-mode file``) to a temporary one.

    Readers that are open at the same time, such as the cameras of several views, share it.
    """
    state = os.fstat(file.fileno())
    key = (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size)
    with _UNPACKING:
        shared = _shared(key)
        if shared is None:
            shared = _unpacked(path, file)
        file.close()
        _UNPACKED.setdefault(key, WeakSet()).add(shared)
        return shared


def _shared(key: tuple[int, ...]) -> BinaryIO | None:
    """Return what another reader has unpacked, with a position of its own; None without one."""
    for other in tuple(_UNPACKED.get(key, ())):
        with suppress(OSError, ValueError):  # it was closed
            return Path(f"/proc/self/fd/{other.fileno()}").open("rb")
    _UNPACKED.pop(key, None)
    return None


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - the reader closes it
    try:
        stream = zstandard.ZstdDecompressor().stream_reader(file)
        shutil.copyfileobj(stream, unpacked, 1 << 20)
    except (OSError, zstandard.ZstdError) as error:
        unpacked.close()
        file.close()
        reason = error.strerror if isinstance(error, OSError) else error
        fault = f"is compressed by ros2 bag and cannot be unpacked to {tempfile.gettempdir()}: {reason}"
        raise RecordingReadError(path, fault, expected=f"what `zstd -d {path}` writes") from error
    unpacked.seek(0)
    return unpacked


def is_sqlite(path: Path) -> bool:
    """Return whether a file is one in SQLite, by its first bytes, or by its name where it was compressed."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError:  # reported where it is read
        return False
    return start == _SQLITE or (start.startswith(ZSTD_MAGIC) and path.name.endswith(".db3.zstd"))


def open_recording(path: Path) -> BinaryIO:
    """Open a file that begins as an MCAP file does, unpacked where ``ros2 bag`` compressed it.

    Raises:
        RecordingReadError: It cannot be opened or unpacked, is empty, or has another format.
    """
    try:
        file: BinaryIO = path.open("rb")
    except OSError as error:
        raise RecordingReadError(path, f"cannot be read: {error.strerror}") from error
    start = file.read(len(MAGIC))
    if start.startswith(ZSTD_MAGIC):
        file.seek(0)
        file = _plain_file(path, file)
        start = file.read(len(MAGIC))
    if start == _SQLITE[: len(MAGIC)]:
        file.close()
        raise RecordingReadError(path, "is not an MCAP file but SQLite, which needs no repair")
    if start != MAGIC:
        file.close()
        message = "is not a recording" if start else "is empty"
        message = HDF5_UNREAD if start.startswith(HDF5_START) else message
        raise RecordingReadError(path, message, expected="an MCAP or SQLite file of `ros2 bag` (.mcap, .db3)")
    file.seek(0)
    return file


def checked_summary(path: Path, file: BinaryIO, reader: SeekingReader) -> Summary:
    """Return the summary of a whole, indexed recording with profile ``ros2``.

    Raises:
        RecordingReadError: It is cut short, of another profile, damaged, or has no index.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(MAGIC)))
    if size < 2 * len(MAGIC) + FOOTER_BYTES or file.read() != MAGIC:
        raise _repairable(path, "is cut short")
    with reporting_damage(path):
        profile = reader.get_header().profile
        summary = reader.get_summary()
        section = summary_section(file, size)
    if profile != "ros2":
        raise RecordingReadError(path, "is another kind of MCAP", expected="profile 'ros2'", got=profile)
    if summary is not None and not section:
        raise _repairable(path, "is damaged (the index has a wrong checksum)")
    if summary is None or not _is_index(summary):
        raise _repairable(path, "has no index")
    return summary


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Turn the mcap library's errors on damaged bytes into ours.

    Raises:
        RecordingReadError: The file is damaged.
    """
    try:
        yield
    except _DAMAGE as error:
        raise _repairable(path, f"is damaged ({error})") from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # the bytes name a place beyond every file
            raise _repairable(path, f"is damaged ({error.strerror})") from error
        raise RecordingReadError(path, f"cannot be read: {error.strerror}") from error


def still_written(path: Path) -> RecordingReadError:
    """Return the error of a recording that a process still writes."""
    return RecordingReadError(path, "is still being recorded; read it once the recording has ended")


def _repairable(path: Path, fault: str) -> RecordingReadError:
    if is_being_written(path):
        return still_written(path)
    return RecordingReadError(path, f"{fault}; repair it with: embodied-iqa recover {path}")


def _is_index(summary: Summary) -> bool:
    statistics = summary.statistics
    return statistics is not None and (statistics.message_count == 0 or bool(summary.chunk_indexes))

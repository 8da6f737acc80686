"""One SQLite file of a recording, as `ros2 bag` wrote them by default up to Humble (`.db3`)."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote
from weakref import WeakValueDictionary

import zstandard
from mcap.records import Attachment, Metadata

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.compression import is_compressed_file, is_compressed_message, plain_message
from embodied_iqa.data.recording.definitions import MessageDefinitions
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.recorded import NO_DEFINITION, RecordedMessage, TopicInfo, merged_topics

_COLUMNS: Final = {
    "topics": {"id", "name", "type", "serialization_format"},
    "messages": {"id", "topic_id", "timestamp", "data"},
}
_MOST_DEFINITIONS: Final = 10_000
_PIECE_BYTES: Final = 1 << 12
"""Unpacked at once: each can become 32,768 times as large in memory."""
_UNPACKED: Final[WeakValueDictionary[tuple[int, ...], Any]] = WeakValueDictionary()
"""Unpacked files that parts have open, by what identifies the packed one."""


class SqlitePart:
    """A file of messages in SQLite. They are read in the order of their times, one at a time.

    Recordings of Humble and before hold no definitions of their types; the standard ones are those of Jazzy.

    Args:
        path: The file; ``ros2 bag`` may have compressed it.

    Attributes:
        path: As given.
        is_compressed: Whether ``ros2 bag`` compressed the file.
        topics: By name, those that are serialised as CDR.
        foreign: Encoding of each other topic.
        start_ns: First time; 0 without messages.
        end_ns: Last time; likewise.

    Raises:
        RecordingReadError: The file is damaged, or SQLite of something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_compressed = is_compressed_file(path)
        self._file = _unpacked(path) if self.is_compressed else None  # it exists as long as this part
        self._base = _connected(path, Path(self._file.name) if self._file is not None else path)
        try:
            with self._reporting():
                self._check_tables()
                self.start_ns, self.end_ns, self.has_messages = self._span()
                self._names, self.topics, self.foreign = self._topics()
        except BaseException:
            self._base.close()
            raise

    def messages(
        self, topics: Collection[str] | None, start_ns: int | None, end_ns: int | None
    ) -> Iterator[RecordedMessage]:
        """Iterate over messages in the order of their times, see `TrialReader.messages`."""
        wanted = [number for number, name in self._names.items() if topics is None or name in topics]
        if not wanted:
            return
        places = ",".join("?" * len(wanted))
        bounds: dict[str, int | None] = {">=": start_ns, "<": end_ns}
        given = {sign: time_ns for sign, time_ns in bounds.items() if time_ns is not None}
        limits = "".join(f" AND timestamp {sign} ?" for sign in given)
        # without data, so that sorting holds numbers only where the file has no index of times
        order = f"SELECT id FROM messages WHERE topic_id IN ({places}){limits} ORDER BY timestamp, id"  # noqa: S608 - no text of the file
        with self._reporting():
            for (row,) in self._base.execute(order, (*wanted, *given.values())):
                yield self._message(row)

    def has_compressed_messages(self) -> bool:
        """Return whether ``ros2 bag`` compressed the messages one by one; the first one decides."""
        with self._reporting():
            first = self._base.execute("SELECT data FROM messages ORDER BY id LIMIT 1").fetchone()
        return first is not None and isinstance(first[0], bytes) and is_compressed_message(first[0])

    def metadata(self) -> Iterator[Metadata]:
        """Return nothing: there are no records of others in such files."""
        return iter(())

    def attachments(self) -> Iterator[Attachment]:
        """Return nothing: there are no attached files."""
        return iter(())

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._base.close()
        self._file = None

    def _message(self, row: int) -> RecordedMessage:
        found = self._base.execute("SELECT topic_id, timestamp, data FROM messages WHERE id = ?", (row,))
        number, time_ns, data = found.fetchone()
        if not isinstance(data, bytes) or not isinstance(time_ns, int):
            raise TypeError(f"message {row} is of another kind")
        info = self.topics[self._names[number]]
        return RecordedMessage(info.topic, info.type_name, time_ns, time_ns, 0, plain_message(data))

    def _check_tables(self) -> None:
        found = self._base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for table, columns in _COLUMNS.items():
            # a view of this name could compute anything
            present = {row[1] for row in self._base.execute(f"PRAGMA table_info({table})")}
            if (table,) not in found or not columns <= present:
                raise RecordingReadError(
                    self.path, "is SQLite of something else", expected=f"a recording with a table {table}"
                )

    def _span(self) -> tuple[int, int, bool]:
        first, last = self._base.execute("SELECT MIN(timestamp), MAX(timestamp) FROM messages").fetchone()
        if not isinstance(first, int | None) or not isinstance(last, int | None):
            raise TypeError("a message has no time")
        return first or 0, last or 0, first is not None

    def _topics(self) -> tuple[dict[int, str], dict[str, TopicInfo], dict[str, str]]:
        counts = dict(self._base.execute("SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id"))
        present = {row[1] for row in self._base.execute("PRAGMA table_info(topics)")}
        qos = "offered_qos_profiles" if "offered_qos_profiles" in present else "''"
        texts = self._definitions()
        names, infos, foreign = {}, [], {}
        rows = self._base.execute(f"SELECT id, name, type, serialization_format, {qos} FROM topics")  # noqa: S608 - one of two words
        for number, name, kind, encoding, profiles in rows:
            if not all(isinstance(text, str) for text in (name, kind, encoding)):
                raise TypeError("a topic is of another kind")
            if encoding != "cdr":
                foreign[name] = encoding
                continue
            names[number] = name
            text = texts.get(kind) or _known_definition(kind)
            qos_text = profiles if isinstance(profiles, str) else ""
            infos.append(TopicInfo(name, kind, counts.get(number, 0), qos_text, text))
        return names, merged_topics(infos), foreign

    def _definitions(self) -> Mapping[str, str]:
        """Return the definitions in the file, of which there are some since Iron, by type."""
        if not self._base.execute("PRAGMA table_info(message_definitions)").fetchall():
            return {}
        wanted = "SELECT topic_type, encoded_message_definition FROM message_definitions WHERE encoding = ?"
        rows = self._base.execute(wanted, ("ros2msg",)).fetchmany(_MOST_DEFINITIONS)
        return {kind: text for kind, text in rows if isinstance(text, str)}

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn what damaged files cause into our errors."""
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
            raise RecordingReadError(self.path, f"is damaged ({error})") from error


def _connected(path: Path, file: Path) -> sqlite3.Connection:
    # a journal beside the file holds messages of a recorder that was killed; without one nothing is written
    journal = file.with_name(f"{file.name}-wal")
    is_whole = not (journal.is_file() and journal.stat().st_size)
    address = f"file:{quote(str(file.absolute()))}?mode=ro{'&immutable=1' * is_whole}"
    try:
        base = sqlite3.connect(address, uri=True, check_same_thread=False)
        base.execute("PRAGMA trusted_schema = OFF")
        base.execute("PRAGMA cell_size_check = ON")
    except sqlite3.Error as error:
        raise RecordingReadError(path, f"cannot be read: {error}") from error
    return base


def _unpacked(path: Path) -> IO[bytes]:
    """Unpack a file to a temporary one, which readers that are open at the same time share."""
    state = path.stat()
    key = (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size)
    shared: IO[bytes] | None = _UNPACKED.get(key)
    if shared is None:
        shared = tempfile.NamedTemporaryFile(suffix=".db3")  # noqa: SIM115 - it goes with its last reader
        try:
            with path.open("rb") as packed:
                _unpack(packed, shared)
        except (OSError, EOFError, zstandard.ZstdError) as error:
            shared.close()
            fault = f"is compressed by ros2 bag and cannot be unpacked to {tempfile.gettempdir()}: {error}"
            raise RecordingReadError(path, fault, expected=f"what `zstd -d {path}` writes") from error
        _UNPACKED[key] = shared
    return shared


def _unpack(packed: IO[bytes], plain: IO[bytes]) -> None:
    stream = zstandard.ZstdDecompressor().decompressobj()
    while piece := packed.read(_PIECE_BYTES):
        plain.write(stream.decompress(piece))
        if stream.eof:
            break
    if not stream.eof:
        raise EOFError("it is cut short")
    plain.flush()


def _known_definition(type_name: str) -> str:
    """Return the definition of a type of an installed or standard package."""
    try:
        return MessageDefinitions().full_text(type_name)
    except InputError:
        return NO_DEFINITION

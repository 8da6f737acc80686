"""The page of stored images: a recording of somebody, a data set, a video, a folder, camera by camera."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage
from embodied_iqa.pages.studio.browse.browser_images import ByteCache, webp
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import NotFoundError, Source, SourceKind

PER_PAGE: Final = 24
_MOST_OPEN: Final = 64
_CACHED: Final = {"Cache-Control": "private, max-age=3600"}


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image of a page.

    Attributes:
        number: In its topic, from 0 on.
        title: Its name, or what cannot be read.
        task: What the robot was asked to do; None where unknown.
        fault: Why it is not shown; empty for none.
    """

    number: int
    title: str
    task: str | None
    fault: str


class StoredImages:
    """The images of a source, page by page; the next page goes on where the last one ended.

    Args:
        path: The source.
        cache: Of encoded images.

    Raises:
        InputError: It cannot be read.
    """

    def __init__(self, path: Path, cache: ByteCache) -> None:
        self.frames = open_frames(path)
        self._cache, self._lock = cache, Lock()
        self._pages: dict[tuple[str, int], tuple[ShownImage, ...]] = {}
        self._topic, self._next = "", 0
        self._images: Iterator[StoredImage | UnreadableImage] | None = None

    @property
    def depths(self) -> Sequence[str]:
        """Topics of depth, which are not shown."""
        return self.frames.depth_topics if isinstance(self.frames, RecordingFrames) else ()

    def pages(self, topic: str) -> int:
        """Return the number of pages of a topic; at least one.

        Raises:
            NotFoundError: The topic does not exist.
        """
        if topic not in self.frames.topics:
            raise NotFoundError("no such topic", got=topic, available=self.frames.topics)
        return max(1, -(-self.frames.count([topic]) // PER_PAGE))

    def page(self, topic: str, page: int) -> tuple[ShownImage, ...]:
        """Return the images of a page, from 0 on; one beyond the last is empty.

        Raises:
            NotFoundError: The topic does not exist.
            InputError: The source is damaged as a whole.
        """
        if page >= self.pages(topic):
            return ()
        with self._lock:
            if (topic, page) not in self._pages:
                self._read(topic, page)
            return self._pages.get((topic, page), ())

    def encoded(self, topic: str, number: int) -> bytes:
        """Return an image as WebP.

        Raises:
            NotFoundError: There is none, or it cannot be read.
        """
        page = number // PER_PAGE

        def again() -> bytes:
            with self._lock:
                self._pages.pop((topic, page), None)
                found = self._read(topic, page)
            if number not in found:
                raise NotFoundError("no such image", got=number)
            return found[number]

        shown = {one.number for one in self.page(topic, page) if not one.fault}
        if number not in shown:
            raise NotFoundError("no such image", got=number)
        return self._cache.get(self._key(topic, number), again)

    def _key(self, topic: str, number: int) -> tuple[int, str, int]:
        return id(self), topic, number

    def _read(self, topic: str, page: int) -> dict[int, bytes]:
        """Read on up to the end of a page, from the start where it was passed; return its encoded images."""
        first = page * PER_PAGE
        if self._images is None or topic != self._topic or first < self._next:
            self._images, self._topic, self._next = self.frames.images([topic]), topic, 0
        shown: list[ShownImage] = []
        encoded: dict[int, bytes] = {}
        while self._next < first + PER_PAGE and (image := next(self._images, None)) is not None:
            number, self._next = self._next, self._next + 1
            if number < first:
                continue
            one = _shown(number, image)
            if isinstance(image, StoredImage) and not one.fault:
                try:
                    data = webp(image.rgb)
                except InputError as error:
                    one = ShownImage(number, image.title, image.task, str(error))
                else:
                    encoded[number] = self._cache.get(self._key(topic, number), partial(bytes, data))
            shown.append(one)
        self._pages[topic, page] = tuple(shown)
        return encoded


def _shown(number: int, image: StoredImage | UnreadableImage) -> ShownImage:
    if isinstance(image, UnreadableImage):
        return ShownImage(number, image.what, None, str(image.error))
    return ShownImage(number, image.title, image.task, "")


class OpenImages:
    """The sources of images that were looked at last, as their files are now."""

    def __init__(self) -> None:
        self._cache, self._lock = ByteCache(), Lock()
        self._known: OrderedDict[Path, tuple[int, StoredImages | UserError]] = OrderedDict()

    def of(self, source: Source) -> StoredImages:
        """Return the images of a source.

        Raises:
            UserError: It cannot be read.
        """
        with self._lock:
            try:
                stamp = source.path.stat().st_mtime_ns
            except OSError as error:
                raise InputError(f"{source.path} cannot be read: {error.strerror}") from None
            known = self._known.get(source.path)
            if known is None or known[0] != stamp:
                known = self._known[source.path] = stamp, self._opened(source.path)
            self._known.move_to_end(source.path)
            while len(self._known) > _MOST_OPEN:
                self._known.popitem(last=False)
        if isinstance(known[1], UserError):
            raise known[1]
        return known[1]

    def _opened(self, path: Path) -> StoredImages | UserError:
        try:
            return StoredImages(path, self._cache)
        except UserError as error:
            return error


def open_images(studio: Studio) -> OpenImages:
    """Return the sources of images that the pages of a studio share."""
    return studio.part(OpenImages)


def faults(studio: Studio, sources: Sequence[Source]) -> dict[str, str]:
    """Return why sources of images cannot be read, by their names; what has to be unpacked is not tried."""
    found = {}
    for source in sources:
        if source.kind is SourceKind.IMAGES and not _is_packed(source.path):
            try:
                open_images(studio).of(source)
            except UserError as error:
                found[source.name] = str(error)
    return found


def _is_packed(path: Path) -> bool:
    """Return whether opening a recording first unpacks its files, which takes time and disk."""
    try:
        files = [*path.iterdir()] if path.is_dir() else [path]
    except OSError:  # opening it says why
        return False
    return any(file.suffix == ".zstd" for file in files)


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def overview(request: Request) -> Response:
        source = studio.source(SourceKind.IMAGES, request)
        found = open_images(studio).of(source)
        topic = request.query_params.get("topic", next(iter(found.frames.topics)))
        page = _number(request.query_params.get("page", "1"))
        return studio.page(
            request,
            "studio_images.html.j2",
            source=source,
            found=found,
            topic=topic,
            page=page,
            pages=found.pages(topic),
            images=found.page(topic, page - 1),
        )

    def image(request: Request) -> Response:
        source = studio.source(SourceKind.IMAGES, request)
        topic = request.query_params.get("topic", "")
        data = open_images(studio).of(source).encoded(topic, int(request.path_params["number"]))
        return Response(data, media_type="image/webp", headers=_CACHED)

    return [Route("/images/{name}", overview), Route("/images/{name}/{number:int}", image)]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise HTTPException(HTTPStatus.BAD_REQUEST)
    return int(text)

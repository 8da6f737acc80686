"""What the pages of all reports have in common."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.pages.reports.kit.figure import LaneFigure
from embodied_iqa.pages.reports.kit.scatter_plot import ScatterPlot
from embodied_iqa.pages.reports.kit.table import Table


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of the header.

    Attributes:
        title: What it is.
        text: The number.
        note: Its scale or sample.
        share: Length of the bar in percent; None for no bar.
    """

    title: str
    text: str
    note: str
    share: float | None


@dataclass(frozen=True, slots=True)
class ImageCard:
    """An image with words below.

    Attributes:
        title: Above the words; also the text for screen readers.
        uri: The image as a data URI; empty where there is none.
        lines: From the top.
    """

    title: str
    uri: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A block of a chapter: figures, with the tables of the same numbers below.

    Attributes:
        title: Heading; may be empty.
        tables: From the top.
        figure: Above the tables, or None.
        scatters: Beside each other, above the tables.
        images: Beside each other, below the tables.
    """

    title: str
    tables: tuple[Table, ...]
    figure: LaneFigure | None = None
    scatters: tuple[ScatterPlot, ...] = ()
    images: tuple[ImageCard, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a page beside this one.

    Attributes:
        text: What is there.
        place: Path relative to this page.
    """

    text: str
    place: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of a page.

    Attributes:
        anchor: For links.
        title: Heading.
        lead: What it shows and how to read it.
        paper: What the paper found.
        parts: From the top.
        command: Command that adds what the chapter lacks; may be empty.
        links: To pages with more of it.
    """

    anchor: str
    title: str
    lead: str
    paper: str
    parts: tuple[Part, ...]
    command: str = ""
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The frame of a page: header and footer.

    Attributes:
        name: Of the run or database.
        headline: The result in one sentence.
        tiles: The main numbers.
        remarks: What is missing or went wrong.
    """

    name: str
    headline: str
    tiles: tuple[Tile, ...]
    remarks: tuple[str, ...]

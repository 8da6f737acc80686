"""What the templates draw: everything is text and numbers already, nothing is computed in a template."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.reports.kit.plots import Plot
from embodied_iqa.reports.trial.gate_strip import Strip, Trouble
from embodied_iqa.reports.trial.word_diff import MarkedWords

__all__ = [
    "Answer",
    "Badge",
    "Decided",
    "Fact",
    "GateCount",
    "Mark",
    "Overlay",
    "Page",
    "Picture",
    "Recipe",
    "RunPage",
    "Score",
    "Side",
    "TaskPage",
    "Tile",
    "ViewRow",
]


class Side(StrEnum):
    """Whose line or word it is; the name of its CSS class."""

    REFERENCE = "reference"
    DISTORTED = "distorted"


class Mark(StrEnum):
    """How a run ended; the name of its icon and CSS class."""

    GOOD = "good"
    BAD = "bad"
    STOP = "stop"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Badge:
    """An outcome: icon and word."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """One score of a run.

    Attributes:
        title: Cognition, decision or execution.
        text: The number, or that there is none.
        scale: Such as "of 1".
        share: Length of the bar in percent, or None for no bar.
        sentence: What this number is made from, with this run's numbers.
        anchor: Of its recipe.
    """

    title: str
    text: str
    scale: str
    share: float | None
    sentence: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Overlay:
    """A decision drawn on a picture, in the picture's pixels.

    Attributes:
        side: Whose decision.
        lines: Pieces of the tool's path, for SVG polylines.
        end: Where the drawn path ends, or None.
        target: Pixel that the subject aimed at, or None.
    """

    side: Side
    lines: tuple[str, ...]
    end: tuple[float, float] | None
    target: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture with what is drawn on it.

    Attributes:
        side: Reference or distorted.
        uri: Data URI.
        alt: What it shows, in words.
        width: Of the recorded picture, px; also the overlay's viewBox.
        height: Of the recorded picture, px.
        overlays: Drawn in this order.
    """

    side: Side
    uri: str
    alt: str
    width: int
    height: int
    overlays: tuple[Overlay, ...]


@dataclass(frozen=True, slots=True)
class ViewRow:
    """What one camera saw: the pictures beside each other, and remarks about them."""

    view: str
    pictures: tuple[Picture, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the VLM said of one picture.

    Attributes:
        side: Of the reference or the distorted picture.
        words: With the differing ones marked; empty where it said nothing.
        missing: In words why there is no answer; empty where there is one.
        origin: Subject, camera, time.
    """

    side: Side
    words: tuple[MarkedWords, ...]
    missing: str
    origin: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of a table of facts: what, on the reference picture, on the distorted picture."""

    name: str
    reference: str
    distorted: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What the VLA decided.

    Attributes:
        facts: Of the first decision.
        later: One sentence a later decision.
        origin: Subject and frame, or that nothing was decided.
    """

    facts: tuple[Fact, ...]
    later: tuple[str, ...]
    origin: str


@dataclass(frozen=True, slots=True)
class GateCount:
    """Frames by verdict, with widths in percent of all.

    Attributes:
        mode: on, shadow or off.
        note: What the mode means.
        counts: Passed, held, rejected.
        shares: The same in percent; zeros where no frame was judged.
    """

    mode: str
    note: str
    counts: tuple[int, int, int]
    shares: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything of one run.

    Attributes:
        anchor: For links.
        title: Such as "Lens blur".
        level: 1 to 5; 0 for the reference run.
        detail: Distortion's number, seed, and so on.
        badge: How it ended.
        reason: Why it ended.
        scores: Cognition, decision, execution.
        gate: Counts.
        strips: Verdicts over time, by camera.
        troubles: When and why the arm was not to move.
        duration: Of the run, for the strips' axis.
        frames_lost: In words, such as "0 of 240".
        moment: Which instant the pictures show.
        views: One a camera.
        answers: Reference beside distorted.
        decided: Of the VLA.
        map_plot: Tool path from above, or None.
        height_plot: Tool height over time, or None.
        remarks: What is missing in this run.
        distorted: False for the reference run.
    """

    anchor: str
    title: str
    level: int
    detail: str
    badge: Badge
    reason: str
    scores: tuple[Score, ...]
    gate: GateCount
    strips: tuple[Strip, ...]
    troubles: tuple[Trouble, ...]
    duration: str
    frames_lost: str
    moment: str
    views: tuple[ViewRow, ...]
    answers: tuple[Answer, ...]
    decided: Decided
    map_plot: Plot | None
    height_plot: Plot | None
    remarks: tuple[str, ...]
    distorted: bool


@dataclass(frozen=True, slots=True)
class TaskPage:
    """One task: instruction, scene and runs.

    Attributes:
        anchor: For links.
        title: The instruction.
        detail: Seed and recording.
        rescore_command: To be typed in the folder of the page.
        runs: The reference run first.
        remarks: What is missing in the whole recording.
    """

    anchor: str
    title: str
    detail: str
    rescore_command: str
    runs: tuple[RunPage, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of the header: title, number, what it means, and a bar in percent or None."""

    title: str
    text: str
    note: str
    share: float | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a score is made: anchor, title and text."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report.

    Attributes:
        run_id: Title.
        headline: The verdict in one sentence.
        subtitle: What was run.
        date: In words.
        machine_date: ISO 8601, or empty.
        tiles: The means.
        remarks: What went wrong without ending the run.
        tasks: By task.
        recipes: How the scores are made.
        versions: Name and version.
        seeds: Name and seed.
        command_line: Empty where not recorded.
        git_hash: Empty where not recorded.
        config_text: Empty where not recorded.
        generator: What wrote the page.
    """

    run_id: str
    headline: str
    subtitle: str
    date: str
    machine_date: str
    tiles: tuple[Tile, ...]
    remarks: tuple[str, ...]
    tasks: tuple[TaskPage, ...]
    recipes: tuple[Recipe, ...]
    versions: tuple[tuple[str, str], ...]
    seeds: tuple[tuple[str, str], ...]
    command_line: str
    git_hash: str
    config_text: str
    generator: str

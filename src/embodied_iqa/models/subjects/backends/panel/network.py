"""Network of a panel member in ONNX Runtime, on one thread: the same input gives the same output."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.panel.format import (
    FEATURES,
    PICTURE,
    TOOL,
    Framing,
    Vocabulary,
    framed,
    task_words,
)
from embodied_iqa.models.subjects.model_card import ModelCard, load_card
from embodied_iqa.world.protocols import SubjectInfo

_OPEN: Final = 12
"""Networks that stay open in a process, the last ones used: to open one takes 0.1 s and more, and a command
that asks for a subject's version before it uses the subject would open it twice."""


@dataclass(frozen=True, slots=True)
class _Content:
    """Content of a file; equal where the SHA-256 is."""

    sha256: str
    network: bytes = field(compare=False, repr=False)
    name: str = field(compare=False)


@lru_cache(_OPEN)
def _opened(content: _Content) -> Any:
    """Return a session, which several members may share: it keeps nothing between two inferences."""
    return open_session(content.network, content.name)


class PanelNetwork:
    """Loads ``NAME.onnx`` with its card ``NAME.json``.

    Args:
        folder: Their folder.
        name: Name of the member.

    Raises:
        InputError: A file is missing, broken, or the network is not the card's.
        MissingDependencyError: ONNX Runtime is not installed.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.card: ModelCard = load_card(folder / f"{name}.json")
        try:
            content = (folder / f"{name}.onnx").read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the network of {name}: {error}") from error
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != self.card.sha256:
            raise InputError(f"the network of {name} is not the one of its card", expected=self.card.sha256)
        self._session: Any = _opened(_Content(sha256, content, name))
        self._words = Vocabulary(self.card.words)
        inputs = {item.name: item.shape for item in self._session.get_inputs()}
        self._task_words = int(inputs["words"][1])
        self._sizes_px = {
            name: (shape[2], shape[1]) for name, shape in inputs.items() if name.startswith(PICTURE)
        }
        self._tool_shape = inputs.get(TOOL)
        self.framing = Framing(str(self.card.network.get("framing", Framing.WHOLE)))
        names = [output.name for output in self._session.get_outputs()]
        self._features = [name for name in names if name.startswith(FEATURES)]
        self._outputs = [name for name in names if name not in self._features]

    def info(self, called: str) -> SubjectInfo:
        """Return the description of the subject under a name; empty for the member's own."""
        card = self.card
        return SubjectInfo(
            name=called or card.name,
            version=card.version,
            description=card.summary,
            views=card.views,
            simulation_only=card.simulation_only,
            rate_hz=card.step_rate_hz,
        )

    def run(
        self,
        tasks: Sequence[str],
        images: Sequence[NDArray[np.uint8]],
        tools: NDArray[np.float64] | None = None,
        *,
        prepared: bool = False,
    ) -> list[NDArray[Any]]:
        """Return the outputs, one row per task, for one ``(H, W, 3)`` image per view, of any size.

        Images are encoded once for all tasks. The last bits of a row may depend on the number of rows.

        Args:
            tasks: In words.
            images: One per view.
            tools: ``(R, 6)`` tool and gripper for each task, columns as in `WAYPOINT_FIELDS`, for a network
                that looks while it acts.
            prepared: Whether the images are framed and resized already, as in samples.
        """
        return self._run(self._outputs, tasks, images, tools, prepared=prepared)

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return ``(cells, C)``, what the encoder of the frame's camera sees before any task is read.

        A member without that camera looks at the image with its first encoder.

        Raises:
            InputError: The network was exported without features.
        """
        views = self.card.views
        if len(self._features) != len(views):
            raise InputError(
                f"the network of {self.card.name} has no output of features",
                expected="a member trained by this version: embodied-iqa train panel",
            )
        index = views.index(frame.view) if frame.view in views else 0
        (grid,) = self._run(self._features[index : index + 1], [""], [frame.rgb] * len(views))
        return np.ascontiguousarray(grid[0].reshape(grid.shape[1], -1).T)

    def _run(
        self,
        outputs: Sequence[str],
        tasks: Sequence[str],
        images: Sequence[NDArray[np.uint8]],
        tools: NDArray[np.float64] | None = None,
        *,
        prepared: bool = False,
    ) -> list[NDArray[Any]]:
        inputs: dict[str, NDArray[Any]] = {
            name: (image if prepared else framed(image, view, self.framing, self._sizes_px[name]))[None]
            for name, view, image in zip(sorted(self._sizes_px), self.card.views, images, strict=True)
        }
        inputs["words"] = np.stack([self._words.encode(task_words(task), self._task_words) for task in tasks])
        if self._tool_shape is not None:
            rows = np.zeros((len(tasks), self._tool_shape[1])) if tools is None else tools
            inputs[TOOL] = np.asarray(rows, np.float32)
        found: list[NDArray[Any]] = self._session.run(outputs, inputs)
        return [np.asarray(output) for output in found]

"""Names of vision models, the user's own models, and what happens if they fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.vision.model import VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
from embodied_iqa.models.vision.reference import (
    CheckedModel,
    VisionBackend,
    load_vision_models,
    parse_vision_reference,
)

IMAGE = np.zeros((12, 16, 3), np.uint8)
NEEDED = (
    "import numpy as np\n"
    "from embodied_iqa.models.vision.model import VisionModelInfo\n"
    "from embodied_iqa.models.vision.predictions import Classification, VisionTask\n"
    "class Constant:\n"
    "    def __init__(self, name):\n"
    "        self.info = VisionModelInfo(name, VisionTask.CLASSIFICATION, '1', ('cube',))\n"
    "    def predict(self, images):\n"
    "        return [Classification('cube', 0.5) for _ in images]\n"
)


class Scripted:
    """A model that predicts what it is given, for at most so many images."""

    def __init__(self, task: VisionTask, predict: Callable[[], object]) -> None:
        self.info = VisionModelInfo("mine", task, "1", ("cube", "ball"))
        self._predict = predict
        self.most = 100

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return the given prediction for each image."""
        return [self._predict() for _ in images[: self.most]]  # type: ignore[misc]  # wrong on purpose


def found(count: int, **changes: object) -> Instances:
    """Return instances of a cube, or changed ones."""
    values: dict[str, object] = {
        "labels": ("cube",) * count,
        "scores": np.linspace(0.1, 0.9, count),
        "boxes_px": np.tile([1.0, 1.0, 5.0, 5.0], (count, 1)),
    }
    return Instances(**(values | changes))  # type: ignore[arg-type]  # plain fields


def predicted(task: VisionTask, predict: Callable[[], object]) -> Prediction:
    """Return the checked prediction."""
    return CheckedModel(Scripted(task, predict)).predict([IMAGE])[0]


CLS, DET, INS = VisionTask.CLASSIFICATION, VisionTask.DETECTION, VisionTask.SEGMENTATION


def test_references_are_parsed() -> None:
    """Into what runs the model and which."""
    for text, backend, target in (
        ("panel", VisionBackend.PANEL, ""),
        (" panel:detector-2 ", VisionBackend.PANEL, "detector-2"),
        ("torchvision:resnet18,weights=a.safetensors", VisionBackend.TORCHVISION,
         "resnet18,weights=a.safetensors"),
        ("python:json:loads", VisionBackend.PYTHON, "json:loads"),
    ):  # fmt: skip
        parsed = parse_vision_reference(text)
        assert (parsed.text, parsed.backend, parsed.target) == (text.strip(), backend, target)


@pytest.mark.parametrize(
    "text",
    ["", "resnet", "openai:http://x", "panel:", "transformers:", "transformers:/nowhere/at/all",
     "python:no_such_module:make", "python:json", "torchvision"],
)  # fmt: skip
def test_wrong_references_are_reported_in_one_line(text: str) -> None:
    """Before anything is loaded."""
    with pytest.raises(UsageError) as caught:
        parse_vision_reference(text)
    assert "\n" not in str(caught.value)


def test_the_users_own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A factory returns one or several; names are unique."""
    (tmp_path / "two_models.py").write_text(
        NEEDED
        + "def several():\n    return [Constant('a'), Constant('b')]\ndef one():\n    return Constant('a')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    models = load_vision_models(["python:two_models:several"])
    assert [model.info.name for model in models] == ["a", "b"]
    assert models[0].predict([IMAGE] * 2) == [Classification("cube", 0.5)] * 2
    with pytest.raises(UsageError, match=r"two vision models have the same name; .*'a'"):
        load_vision_models(["python:two_models:one", "python:two_models:several"])


@pytest.fixture
def _two_in_the_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the networks of the panel; each version names the folder that it was loaded from."""

    def load_panel(folder: Path | None) -> list[Scripted]:
        models = [Scripted(CLS, lambda: Classification("cube")) for _ in range(2)]
        for model, name in zip(models, ("first", "second"), strict=True):
            model.info = replace(model.info, name=name, version=str(folder))
        return models

    panel = SimpleNamespace(load_vision_panel=load_panel)
    monkeypatch.setitem(sys.modules, "embodied_iqa.models.vision.backends.panel", panel)


@pytest.mark.usefixtures("_two_in_the_panel")
def test_the_panel_and_its_models(tmp_path: Path) -> None:
    """All or one; of the package, of a folder of networks, of the folder of a training."""
    (tmp_path / "out" / "models").mkdir(parents=True)
    for text, names, folder in (
        ("panel", ["first", "second"], None),
        ("panel:second", ["second"], None),
        (f"panel:{tmp_path}", ["first", "second"], tmp_path),
        (f"panel:{tmp_path}/first", ["first"], tmp_path),
        (f"panel:{tmp_path}/out", ["first", "second"], tmp_path / "out" / "models"),
        (f"panel:{tmp_path}/out/second", ["second"], tmp_path / "out" / "models"),
    ):
        models = load_vision_models([text])
        assert [(model.info.name, model.info.version) for model in models] == [
            (n, str(folder)) for n in names
        ]
    with pytest.raises(UsageError, match="no such model in the vision panel; got 'third'; available: first"):
        load_vision_models(["panel:third"])
    with pytest.raises(UsageError, match="no vision panel in this folder"):
        load_vision_models(["panel:/nowhere/first"])


def test_factories_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Are reported as the user's, in one line."""
    (tmp_path / "failing_vision.py").write_text(
        "def broken():\n    raise ValueError('no weights')\ndef other():\n    return 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match="failing_vision:broken cannot be loaded: ValueError: no weights"):
        load_vision_models(["python:failing_vision:broken"])
    with pytest.raises(InputError, match=r"not a vision model; .*'int'"):
        load_vision_models(["python:failing_vision:other"])


def test_a_model_that_raises_is_named() -> None:
    """Whatever it raises."""

    def fail() -> object:
        raise ZeroDivisionError("in my code")

    with pytest.raises(InputError, match="mine fails: ZeroDivisionError: in my code"):
        predicted(DET, fail)


def test_boxes_that_are_not_finite_are_reported_with_the_name() -> None:
    """Instances refuse them; the model's name is added."""
    with pytest.raises(InputError, match="mine: a score or box is not finite"):
        predicted(DET, lambda: found(1, boxes_px=np.full((1, 4), np.nan)))


@pytest.mark.parametrize(
    ("task", "predict", "message"),
    [
        (CLS, lambda: found(1), "unusable prediction; expected Classification; got 'Instances'"),
        (DET, lambda: Classification("cube"), "unusable prediction; expected Instances"),
        (DET, lambda: None, "got 'NoneType'"),
        (CLS, lambda: Classification("house"), "unusable class; .*'house'"),
        (DET, lambda: found(1, labels=("house",)), "unusable class"),
        (CLS, lambda: Classification("cube", float("nan")), "unusable score"),
        (DET, lambda: found(1, scores=np.array([1.5])), "unusable score"),
        (INS, lambda: found(1), "unusable masks; .*none"),
        (INS, lambda: found(1, masks=np.ones((1, 4, 4), bool)), "unusable masks"),
        (INS, lambda: found(1, masks=np.ones((1, 12, 16))), "unusable masks; .*float64"),
        (DET, lambda: found(2, scores=np.ones(1)), "mine: instances differ in number"),
    ],
)
def test_unusable_predictions_are_reported(
    task: VisionTask, predict: Callable[[], object], message: str
) -> None:
    """With the name of the model."""
    with pytest.raises(InputError, match=message) as caught:
        predicted(task, predict)
    assert str(caught.value).startswith("mine")


def test_the_number_of_predictions_is_checked() -> None:
    """One for each image."""
    scripted = Scripted(CLS, lambda: Classification("cube"))
    scripted.most = 0
    model = CheckedModel(scripted)
    with pytest.raises(InputError, match="unusable number of predictions; expected 2; got 0"):
        model.predict([IMAGE, IMAGE])


def test_predicting_nothing_is_usable() -> None:
    """For every task."""
    assert predicted(CLS, lambda: Classification("", 0.0)) == Classification("", 0.0)
    nothing = predicted(INS, lambda: found(0, masks=np.zeros((0, 12, 16), bool)))
    assert isinstance(nothing, Instances)
    assert len(nothing) == 0


def test_the_best_hundred_are_kept_by_falling_score() -> None:
    """Boxes without area are kept: they find nothing."""
    kept = predicted(DET, lambda: found(150, boxes_px=np.zeros((150, 4))))
    assert isinstance(kept, Instances)
    assert len(kept) == 100
    assert kept.scores[0] == 0.9
    assert (np.diff(kept.scores) < 0).all()

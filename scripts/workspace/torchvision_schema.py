"""Lets `import torchvision` work where its compiled part does not fit the installed torch.

Some package indexes pair the CPU build of torch with a CUDA build of torchvision, whose library then cannot
be loaded, and its import fails because no operators are declared. Models need none of these operators. Set-up
puts this file into such an environment, where every Python process imports it at its start: nothing is
imported here before torchvision is.
"""

from __future__ import annotations

import sys

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_held: list[object] = []


class _DeclareFirst:
    """Declares torchvision's operators when torchvision is about to be imported and its library is unfit."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == "torchvision":
            sys.meta_path.remove(self)
            _declare_if_unfit()


def install() -> None:
    """Put the hook in place, once."""
    if "torchvision" not in sys.modules and not any(isinstance(f, _DeclareFirst) for f in sys.meta_path):
        sys.meta_path.insert(0, _DeclareFirst())


def _declare_if_unfit() -> None:
    import importlib.util  # noqa: PLC0415 - see the module
    from pathlib import Path  # noqa: PLC0415 - see the module

    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None or importlib.util.find_spec("torch") is None:
        return
    torch = importlib.import_module("torch")
    try:
        torch.ops.load_library(Path(found.origin).with_name("_C.so"))
    except OSError:
        library = torch.library.Library("torchvision", "DEF")
        for schema in _SCHEMAS:
            library.define(schema)
        _held.append(library)

"""Features of models in transformers: the output of their vision tower, taken by a hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

_TOWERS: Final = ("vision_tower", "vision_model", "visual", "img_processor")
"""Last part of the module's name; in this order."""


class _TowerReachedError(Exception):
    """Ends the forward pass: what follows the tower is not needed."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output


def tower_features(model: Any, name: str, forward: Callable[[], object]) -> NDArray[np.float32]:
    """Return the ``(tokens, C)`` output of a model's vision tower.

    Args:
        model: Of transformers.
        name: The subject's name, for messages.
        forward: Runs the model on one image; ends when the tower has its output.

    Raises:
        InputError: The model has no vision tower of a known name, or does not call it.
    """
    tower = _tower(model, name)
    hook = tower.register_forward_hook(_stop)
    try:
        forward()
    except _TowerReachedError as reached:
        return _tokens(reached.output)
    finally:
        hook.remove()
    raise InputError(f"{name} does not call its vision tower")


def _stop(_module: Any, _inputs: Any, output: Any) -> NoReturn:
    raise _TowerReachedError(output)


def _tower(model: Any, name: str) -> Any:
    modules = dict(model.named_modules())
    for word in _TOWERS:
        found = [path for path in modules if path.rpartition(".")[2] == word]
        if found:
            return modules[min(found, key=len)]
    raise InputError(f"{name} has no vision tower", expected=f"a module named {' or '.join(_TOWERS)}")


def _tokens(output: Any) -> NDArray[np.float32]:
    """Return the tokens of a tensor, of a tuple that begins with one, or of transformers' record."""
    hidden = getattr(output, "last_hidden_state", None)
    tensor = hidden if hidden is not None else output[0] if isinstance(output, tuple) else output
    tokens: NDArray[np.float32] = tensor.flatten(0, -2).float().cpu().numpy()
    return tokens

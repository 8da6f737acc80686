"""Writes networks as ONNX: one file, which ONNX Runtime opens, with the outputs that it should have.

`write_network` exports a network of torch. `write_graph` takes nodes, for operators that the exporter does
not write, such as convolutions of integers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import torch
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.files import write_whole
from embodied_iqa.base.onnx_session import open_session

OPSET: Final = 17
_IR_VERSION: Final = 8
_LARGE: Final = 1024
"""Smallest number of elements of a weight that is stored in half precision."""
_LARGEST_HALF: Final = float(np.finfo(np.float16).max)
"""A weight with a larger value stays in single precision: in half it would be infinite."""
_TOLERANCE: Final = 1e-2
"""Of the first output, beside torch's. Both compute in single precision, but a network that goes on with the
highest of nearly equal values may go on with another one: 0.002 of 0.57 in a panel member before training."""


def write_network(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    rows: Mapping[str, str],
    path: Path,
    *,
    halved: bool,
) -> None:
    """Write a network as ONNX, atomically.

    Args:
        module: In evaluation mode.
        inputs: Examples by name, in the order of ``forward``.
        outputs: Names. The first one must not depend on the order of equal values, as boxes do.
        rows: Name of the first dimension of those inputs and outputs where it varies.
        path: The file.
        halved: Store large weights in half precision.

    Raises:
        InputError: The file cannot be written.
        InternalError: ONNX Runtime computes something else than torch.
    """

    def write(fresh: Path) -> None:
        with warnings.catch_warnings(), torch.no_grad(), _plain_attention():
            warnings.simplefilter("ignore")  # a deprecation warning of the exporter
            torch.onnx.export(
                module,
                tuple(inputs.values()),
                str(fresh),
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_axes={name: {0: axis} for name, axis in rows.items()},
                opset_version=OPSET,
                dynamo=False,
            )
            expected = module(*inputs.values())
        _check(fresh, path.name, inputs, (expected,) if isinstance(expected, Tensor) else expected)
        if halved:
            _halve(fresh)
            _check_halved(fresh, path.name, inputs)

    write_whole(path, write)


def write_graph(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str]],
    constants: Mapping[str, ArrayLike],
    path: Path,
    *,
    name: str,
) -> None:
    """Write a graph of bytes to bytes as ONNX, atomically.

    Args:
        nodes: In the order of computation.
        inputs: Shapes by name; a word is a dimension that varies.
        outputs: Likewise.
        constants: Values by name.
        path: The file.
        name: Of the graph.

    Raises:
        InputError: The file cannot be written, or ONNX Runtime cannot open it.
    """
    given, computed = (
        [helper.make_tensor_value_info(end, TensorProto.UINT8, shape) for end, shape in shapes.items()]
        for shapes in (inputs, outputs)
    )
    values = [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()]
    graph = helper.make_graph(nodes, name, given, computed, values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION)
    content = model.SerializeToString()
    open_session(content, path.name)
    write_whole(path, lambda fresh: fresh.write_bytes(content))


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Compute attention by plain operators: ONNX has none for torch's fast path."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _check(file: Path, name: str, inputs: Mapping[str, Tensor], expected: Sequence[Tensor]) -> None:
    """Compare shapes and types of all outputs with those of torch, and the first one, unless it is words."""
    found = _outputs_of(file, name, inputs)
    ours = [(one.shape, one.dtype) for one in found]
    theirs = [(one.numpy().shape, one.numpy().dtype) for one in expected]
    if ours != theirs:
        raise InternalError(f"ONNX Runtime gives {ours} for {name}, torch {theirs}")
    first, wanted = found[0], expected[0].numpy()
    if first.dtype.kind == "f" and not np.allclose(first, wanted, _TOLERANCE, _TOLERANCE, equal_nan=True):
        raise InternalError(f"ONNX Runtime computes other values for {name} than torch")


def _check_halved(file: Path, name: str, inputs: Mapping[str, Tensor]) -> None:
    """Check that the file that is kept can be opened, and gives finite numbers."""
    first = _outputs_of(file, name, inputs)[0]
    if first.dtype.kind == "f" and not np.isfinite(first).all():
        raise InternalError(f"{name} in half precision gives no finite numbers")


def _outputs_of(file: Path, name: str, inputs: Mapping[str, Tensor]) -> list[NDArray[Any]]:
    session = open_session(file.read_bytes(), name)
    known = {entry.name for entry in session.get_inputs()}  # the exporter leaves out what has no effect
    found: list[NDArray[Any]] = session.run(
        None, {key: value.numpy() for key, value in inputs.items() if key in known}
    )
    return found


def _halve(path: Path) -> None:
    """Store large weights in half precision; a cast, done once at loading, restores single precision.

    This halves the files. Rounding moved plans for images of noise by at most 1.1 mm.
    """
    model = onnx.load(path)
    graph = model.graph
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype == np.float32 and values.size >= _LARGE and np.abs(values).max() <= _LARGEST_HALF:
            name = f"{weight.name}.half"
            cast = helper.make_node("Cast", [name], [weight.name], to=TensorProto.FLOAT)
            graph.node.insert(0, cast)
            weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), name))
    onnx.save(model, path)

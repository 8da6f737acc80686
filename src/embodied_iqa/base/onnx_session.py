"""ONNX Runtime sessions on one CPU thread: the same input gives the same output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import INSTALL_DATA, load


def open_session(network: bytes, name: str, settings: Mapping[str, str] | None = None) -> Any:
    """Open a network.

    Args:
        network: Content of an ``.onnx`` file.
        name: The network's name, for error messages.
        settings: Entries of ONNX Runtime's session configuration.

    Returns:
        ``onnxruntime.InferenceSession``.

    Raises:
        InputError: Not a network that ONNX Runtime can run.
        MissingDependencyError: ONNX Runtime is not installed.
    """
    onnxruntime = load("onnxruntime", INSTALL_DATA)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for key, value in (settings or {}).items():
        options.add_session_config_entry(key, value)
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"broken network of {name}: {error}") from error

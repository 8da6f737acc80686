"""A network is written as ONNX only if ONNX Runtime computes what torch does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.base.training.onnx_writer import OPSET, write_network

pytestmark = pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")


class Scaled(nn.Module):
    """Its factor changes with every call; one that has been traced is a constant."""

    def __init__(self, *, stays: bool, changes_shape: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 32)
        self.stays, self.changes_shape, self.calls = stays, changes_shape, 0

    def forward(self, values: Tensor) -> Tensor:
        self.calls += 1
        output: Tensor = self.layer(values) * (1.0 if self.stays else self.calls)
        return output[:, : self.calls] if self.changes_shape else output


def write(module: nn.Module, path: Path, *, halved: bool) -> None:
    inputs = {"values": torch.ones(2, 64)}
    write_network(module.eval(), inputs, ["out"], {"values": "rows", "out": "rows"}, path, halved=halved)


@pytest.mark.parametrize("halved", [False, True])
def test_a_network_is_one_file_for_any_number_of_rows(halved: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = Scaled(stays=True)
    write(module, tmp_path / "network.onnx", halved=halved)
    assert [file.name for file in tmp_path.iterdir()] == ["network.onnx"]
    assert onnx.load(tmp_path / "network.onnx").opset_import[0].version == OPSET
    values = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    (found,) = open_session((tmp_path / "network.onnx").read_bytes(), "it").run(None, {"values": values})
    with torch.no_grad():
        expected = module(torch.from_numpy(values)).numpy()
    assert np.abs(found - expected).max() < (0.02 if halved else 1e-5)
    assert halved == (np.abs(found - expected).max() > 1e-5)


def test_a_weight_that_half_precision_cannot_hold_stays_whole(tmp_path: Path) -> None:
    module = Scaled(stays=True)
    with torch.no_grad():
        module.layer.weight[0, 0] = 1e6
    write(module, tmp_path / "network.onnx", halved=True)
    values = np.ones((2, 64), np.float32)
    (found,) = open_session((tmp_path / "network.onnx").read_bytes(), "it").run(None, {"values": values})
    assert np.isfinite(found).all()
    assert found[0, 0] == pytest.approx(1e6, rel=1e-4)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Scaled(stays=False), "other values for network.onnx"),
        (Scaled(stays=True, changes_shape=True), r"gives .* for network.onnx, torch .*"),
    ],
)
def test_a_file_that_computes_something_else_is_not_kept(
    module: nn.Module, message: str, tmp_path: Path
) -> None:
    fast = torch.backends.mha.get_fastpath_enabled()
    with pytest.raises(InternalError, match=message):
        write(module, tmp_path / "network.onnx", halved=False)
    assert list(tmp_path.iterdir()) == []
    assert torch.backends.mha.get_fastpath_enabled() == fast

"""Every frame of a tree is found from every other; a wrong transform harms only what needs it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.transforms import TransformTree

Array = NDArray[np.float64]


def _random(generator: np.random.Generator) -> Array:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=int(generator.integers(2**31))).as_matrix()
    T[:3, 3] = generator.normal(size=3)
    return T


@given(parents=st.lists(st.integers(0, 100), min_size=1, max_size=9), seed=st.integers(0, 2**31))
def test_any_two_frames_of_a_tree_are_connected(parents: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    tree, T_world = TransformTree(), {"0": np.eye(4)}
    for number, parent in enumerate((value % (index + 1) for index, value in enumerate(parents)), start=1):
        T = _random(generator)
        tree.add(str(parent), str(number), 0, T)
        T_world[str(number)] = T_world[str(parent)] @ T
    for root, T_world_root in T_world.items():
        for frame, T_world_frame in T_world.items():
            found = tree.lookup(root, frame, 0)
            assert found is not None
            np.testing.assert_allclose(found, np.linalg.inv(T_world_root) @ T_world_frame, atol=1e-9)
        assert tree.lookup(root, "elsewhere", 0) is None
        assert tree.lookup("elsewhere", root, 0) is None


def test_base_may_be_a_leaf_beside_the_camera() -> None:
    tree, turned = TransformTree(), np.diag([-1.0, -1.0, 1.0, 1.0])
    T_link_camera = np.eye(4)
    T_link_camera[:3, 3] = 0.5, 0.1, 0.95
    tree.add("base_link", "base", 0, turned)
    tree.add("base_link", "camera", 0, T_link_camera)
    found = tree.lookup("base", "camera", 0)
    assert found is not None
    np.testing.assert_allclose(found[:3, 3], (-0.5, -0.1, 0.95))


def test_two_trees_and_rings_are_not_connected() -> None:
    tree = TransformTree()
    tree.add("a", "b", 0, np.eye(4))
    tree.add("c", "d", 0, np.eye(4))
    assert tree.lookup("b", "d", 0) is None
    tree.add("d", "c", 0, np.eye(4))
    assert tree.lookup("b", "d", 0) is None


def test_wrong_transform_is_named_only_where_it_is_needed() -> None:
    tree = TransformTree()
    tree.add("map", "base", 0, np.eye(4))
    tree.add("map", "camera", 0, np.eye(4))
    tree.add("map", "person", 0, "its numbers are not finite")
    tree.add("camera", "lens", 5, "its numbers are not finite")
    assert tree.lookup("base", "camera", 9) is not None
    for root, frame, edge in (("base", "person", "map -> person"), ("lens", "base", "camera -> lens")):
        with pytest.raises(InputError, match=f"transform {edge}: its numbers are not finite"):
            tree.lookup(root, frame, 9)
    tree.add("camera", "lens", 7, np.eye(4))
    assert tree.lookup("base", "lens", 9) is not None, "a newer one is sound"

"""Requirements are exact pins; a sourced ROS replaces some of them."""

from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.pins import Pin, read_pins, replace_pins


def test_pins_are_read_with_extras_markers_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text(
        "# a comment\n\nros-rclpy[fastrtps]==7.1.6\nPy_Thing==1.0.post3  # why\n"
        'peer==2.0; python_version < "3.12"  # no wheel\n'
        "held==1.0 --hash=sha256:aa --hash=sha256:bb\n"
    )
    pins = read_pins(file)
    assert [str(pin) for pin in pins] == [
        "ros-rclpy[fastrtps]==7.1.6",
        "Py_Thing==1.0.post3",
        'peer==2.0; python_version < "3.12"',
        "held==1.0",
    ]
    assert [pin.key for pin in pins] == ["ros-rclpy", "py-thing", "peer", "held"]


@pytest.mark.parametrize(
    "line", ["numpy", "numpy>=2", "numpy==2.*", "-r other.txt", "numpy==1,<2", "git+x@y"]
)
def test_anything_but_an_exact_pin_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "some.txt"
    file.write_text(f"rich==15.0.0\n{line}\n")
    with pytest.raises(InputError, match=r"some\.txt:2 is not a pin; expected name==version"):
        read_pins(file)


def test_replacement_swaps_versions_and_adds_nothing() -> None:
    pins = [Pin("numpy", "", "2.4.6"), Pin("Jinja2", "", "3.1.6")]
    swapped = replace_pins(pins, [Pin("NumPy", "", "1.26.4"), Pin("other", "", "1.0")])
    assert [str(pin) for pin in swapped] == ["NumPy==1.26.4", "Jinja2==3.1.6"]

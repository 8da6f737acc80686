"""Interface libraries are preloaded where the loader does not find them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.live.ros.environment import (
    preload_interfaces,
    process_environment,
    stays_here,
    use_sockets_only,
)


def _library(folder: Path, name: str, code: str, *needs: str) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "set-up installs a compiler"
    file = folder / f"libembodied_iqa_msgs__{name}.so"
    (folder / f"{name}.c").write_text(code)
    links = [f"-lembodied_iqa_msgs__{need}" for need in needs]
    words = [
        compiler,
        "-shared",
        "-fPIC",
        f"-Wl,-soname,{file.name}",
        str(folder / f"{name}.c"),
        f"-L{folder}",
    ]
    subprocess.run([*words, "-o", str(file), "-Wl,--no-as-needed", *links], check=True)
    return file


def test_libraries_with_dependencies_load_in_any_order(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    _library(folder, "preload_test_z", "int z(void) { return 1; }")
    _library(folder, "preload_test_a", "int z(void); int a(void) { return z(); }", "preload_test_z")
    assert preload_interfaces(tmp_path, {}) == 2


def test_nothing_is_loaded_where_the_loader_finds_it(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libembodied_iqa_msgs__x.so").write_bytes(b"not a library")
    assert preload_interfaces(tmp_path, {"LD_LIBRARY_PATH": f"/elsewhere:{folder}"}) == 0
    assert preload_interfaces(tmp_path / "none", {}) == 0


def test_a_library_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libembodied_iqa_msgs__x.so").write_bytes(b"not a library")
    with pytest.raises(MissingDependencyError, match="make setup"):
        preload_interfaces(tmp_path, {})


def test_a_control_loop_leaves_shared_memory_unless_the_user_has_a_profile_or_a_network() -> None:
    def variables(**users: str) -> tuple[str, str]:
        environment = dict(users)
        process_environment(environment)
        use_sockets_only(environment)
        profiles = {environment[f"{name}_DEFAULT_PROFILES_FILE"] for name in ("FASTDDS", "FASTRTPS")}
        return environment["ROS_AUTOMATIC_DISCOVERY_RANGE"], " ".join(sorted(Path(p).name for p in profiles))

    assert variables() == ("SYSTEM_DEFAULT", "fastdds_loopback.xml")
    assert variables(ROS_AUTOMATIC_DISCOVERY_RANGE="SUBNET") == ("SUBNET", "fastdds_network.xml")
    own = variables(FASTDDS_DEFAULT_PROFILES_FILE="own.xml")
    assert own == ("LOCALHOST", "fastdds_shared_memory.xml own.xml")


def test_a_wider_range_than_this_machine_gets_the_profile_of_the_network() -> None:
    def variables(**users: str) -> tuple[str, str, bool]:
        environment = dict(users)
        process_environment(environment)
        first = dict(environment)
        process_environment(environment)
        assert environment == first, "a child process gets the same"
        profile = Path(environment["FASTRTPS_DEFAULT_PROFILES_FILE"]).name
        return environment["ROS_AUTOMATIC_DISCOVERY_RANGE"], profile, stays_here(environment)

    here = ("SYSTEM_DEFAULT", "fastdds_shared_memory.xml", True)
    assert variables() == variables(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST") == here
    for reach in ("SUBNET", "SYSTEM_DEFAULT"):
        away = (reach, "fastdds_network.xml", False)
        assert variables(ROS_AUTOMATIC_DISCOVERY_RANGE=reach) == away
    own = variables(FASTRTPS_DEFAULT_PROFILES_FILE="own.xml")
    assert own == ("LOCALHOST", "own.xml", True)

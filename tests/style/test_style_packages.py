"""The descriptions of the two packages agree with each other and with the code."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import setuptools
import yaml
from style_sources import PACKAGE, ROOT, Source, project_files, sources

import embodied_iqa

FOLDER = ROOT / "ros"
MANIFEST = FOLDER / "package.xml"
MANIFESTS = (MANIFEST, ROOT / "msg" / "package.xml")


def _text(manifest: Path, tag: str) -> str:
    found = ET.parse(manifest).getroot().findtext(tag)
    assert found is not None, f"{manifest}: no <{tag}>"
    return found


def _setup(*words: str) -> str:
    """What setup.py itself says."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "--quiet", *words],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_version_and_licence_agree(manifest: Path) -> None:
    assert _text(manifest, "version") == embodied_iqa.__version__
    assert _text(manifest, "license") == "Apache-2.0"
    assert ET.parse(manifest).getroot().find("maintainer").attrib["email"].count("@") == 1


def test_setup_agrees_with_the_manifest() -> None:
    assert _setup("--version") == embodied_iqa.__version__
    assert _setup("--name") == _text(MANIFEST, "name") == PACKAGE.name
    assert _setup("--license") == _text(MANIFEST, "license")


def test_what_is_not_in_ros_has_a_rosdep_key_or_is_named_in_the_guide() -> None:
    """A requirement of the core without either is missing where only rosdep installs."""
    manifest = ET.parse(MANIFEST).getroot()
    keys = {
        (one.text or "").removeprefix("python3-").removesuffix("-pip") for one in manifest.iter("exec_depend")
    }
    guide = (ROOT / "docs" / "ros-installation.md").read_text(encoding="utf-8").replace("\n", " ")
    named = re.search(r"`rosdep` has no keys for (.*?), and its versions", guide)
    assert named is not None
    without = {word.lower() for word in re.split(r", | and ", named[1])}
    lines = (ROOT / "requirements" / "core.txt").read_text(encoding="utf-8").splitlines()
    core = {line.partition("==")[0].lower() for line in lines if "==" in line}
    renamed = {"pyyaml": "yaml", "opencv-python-headless": "opencv"}
    assert {name for name in core if renamed.get(name, name) not in keys} == without


def test_colcon_finds_both_packages_in_a_clone() -> None:
    """It does not look below a package: the top of the clone is none, and none is inside another."""
    marks = {"package.xml", "setup.py", "CMakeLists.txt"}
    ignored = {file.parent for file in project_files() if file.name == "COLCON_IGNORE"}
    folders = {file.parent for file in project_files() if file.name in marks}
    found = {folder for folder in folders if ignored.isdisjoint({folder, *folder.parents})}
    assert found == {manifest.parent for manifest in MANIFESTS}
    assert not (ROOT / "setup.cfg").exists(), "with a name in it, the top would be a package of Python"


def test_pip_and_colcon_install_the_same_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip at the top of the clone, colcon in the folder of the package, which links to the others."""
    described: list[dict[str, Any]] = []
    installed = []
    monkeypatch.setattr(setuptools, "setup", lambda **words: described.append(words))
    for place in (ROOT, FOLDER):
        monkeypatch.chdir(place)
        runpy.run_path(str(FOLDER / "setup.py"))
        files = described[-1]["data_files"]
        installed.append({(to, Path(file).resolve(strict=True)) for to, named in files for file in named})
    assert installed[0] == installed[1]
    assert (f"share/{PACKAGE.name}", MANIFEST) in installed[0]
    assert (f"share/{PACKAGE.name}/launch", ROOT / "launch" / "trial.launch.py") in installed[0]
    assert described[0]["packages"] == described[1]["packages"]
    assert f"{PACKAGE.name}.live.nodes" in described[0]["packages"]


def test_a_clone_without_links_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git with core.symlinks=false writes files with the paths: colcon would install an empty package."""
    for file in (file for file in FOLDER.iterdir() if file.is_symlink() or file.is_file()):
        text = str(file.readlink()) if file.is_symlink() else file.read_text(encoding="utf-8")
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="has no links to config, launch, requirements, resource, src"):
        runpy.run_path(str(tmp_path / "setup.py"))


def test_setup_refuses_executables_that_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel of them would hold nodes that `ros2 run` cannot start."""
    for name in ("src", "requirements", "launch", "config", "README.md", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(FOLDER, tmp_path / "ros", symlinks=True)
    (tmp_path / "resource" / "executables").mkdir(parents=True)
    (tmp_path / "resource" / "executables" / "gate_node").write_text("run_node.sh", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="resource/executables has no links gate_node"):
        runpy.run_path(str(tmp_path / "ros" / "setup.py"))


def test_the_citation_names_the_version_and_the_papers_of_the_guides() -> None:
    file = ROOT / "CITATION.cff"
    check = [
        Path(sys.executable).with_name("check-jsonschema"),
        "--builtin-schema",
        "vendor.citation-file-format",
    ]
    assert subprocess.run([*check, file], capture_output=True, check=False).returncode == 0
    citation = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert citation["version"] == embodied_iqa.__version__
    assert citation["license"] == _text(MANIFEST, "license")
    cited = {one["identifiers"][0]["value"].removeprefix("arXiv:") for one in citation["references"]}
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\[arXiv ([\d.]+)\]", index)) == cited
    assert len(cited) == 4


def test_changelog_knows_the_version() -> None:
    assert f"## [{embodied_iqa.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_node_is_an_executable() -> None:
    modules = {path.stem for path in (PACKAGE / "live" / "nodes").glob("*_node.py")}
    links = {path.name for path in (ROOT / "resource" / "executables").glob("*_node")}
    assert links == modules, (
        "live/nodes/<name>.py needs its link to run_node.sh, else `ros2 run` finds no <name>"
    )


@pytest.mark.parametrize(
    "source", sources("src/embodied_iqa/live/nodes"), ids=lambda source: source.path.stem
)
def test_every_node_runs_as_a_module(source: Source) -> None:
    if not source.path.name.endswith("_node.py"):
        return
    functions = {node.name for node in source.tree.body if isinstance(node, ast.FunctionDef)}
    guards = [
        node for node in source.tree.body if isinstance(node, ast.If) and "__main__" in ast.dump(node.test)
    ]
    assert "main" in functions
    assert guards, "python -m would do nothing"

"""Parts of other distributions are found by their entry points; a broken one ends nothing but its own use."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import embodied_iqa
from embodied_iqa import InputError, UsageError
from embodied_iqa.base.plugins import PluginGroup, find_plugin
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli import trial
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.cameras.own_cameras import own_cameras
from embodied_iqa.quality.metrics.catalogue import metric_names
from embodied_iqa.runs.experiment.world_runs import judged_camera, open_world
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource

ROOT = source_checkout() or Path()
EXTEND = ROOT / "examples" / "extend"
ENTRIES = """
[console_scripts]
acme = acme:main

[embodied_iqa.metrics]
mean-difference = own_metric:MeanDifference
gone = acme_gone:Metric
raises = acme_raises:Metric
nothing = own_metric:Nothing
no metric = own_vlm:make
[embodied_iqa.subjects]
acme-vla = own_vla:make [extra]
acme-gone = acme_gone:make
acme-open = acme_world:open_role
[embodied_iqa.cameras]
bar = own_camera:make
acme-cam = own_camera:make
[embodied_iqa.worlds]
descent = own_world:make
half = acme_world:make
"""
IMAGES = np.full((2, 32, 32, 3), 9, np.uint8)


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed distributions with acme-iqa 2.1."""
    site = tmp_path / "site"
    install(site, "acme_iqa", "2.1", ENTRIES)
    (site / "acme_raises.py").write_text("raise RuntimeError('no licence')\n", encoding="utf-8")
    (site / "acme_world.py").write_text(
        "class World:\n    name = 'half'\n\n\nmake = World\n\n\ndef open_role():\n    return World()\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(EXTEND))
    monkeypatch.syspath_prepend(str(site))
    judged_camera.cache_clear()
    return site


def install(site: Path, name: str, version: str, entries: str) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    (folder / "entry_points.txt").write_text(entries, encoding="utf-8")


@pytest.mark.usefixtures("acme")
def test_a_metric_of_a_plugin_has_its_plain_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert embodied_iqa.metric("mean-difference")(IMAGES, 0 * IMAGES).tolist() == [9.0, 9.0]
    assert embodied_iqa.metric("mean-difference").info.name == "mean-difference"
    assert embodied_iqa.list_metrics()[-1] == "raises"
    assert "acme_raises" not in sys.modules, "a list imports nothing"
    assert metric_names("trained:a,b,mean-difference,MS_SSIM,lpips") == (
        "trained:a,b",
        "mean-difference",
        "MS_SSIM",
        "lpips",
    )
    cv2.imwrite(str(tmp_path / "a.png"), IMAGES[0])
    words = [str(tmp_path / "a.png"), "--reference", str(tmp_path / "a.png"), "--json"]
    assert main(["metrics", "score", "mean-difference,psnr", *words]) == 0
    assert [one["metric"] for one in json.loads(capsys.readouterr().out)["metrics"]] == [
        "mean-difference",
        "psnr",
    ]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "the metric gone of acme-iqa 2.1 is broken: no module acme_gone"),
        ("raises", "the metric raises of acme-iqa 2.1 is broken: .*RuntimeError: no licence"),
        ("nothing", "the metric nothing of acme-iqa 2.1 is broken: own_metric has no Nothing"),
        ("no metric", "what no metric makes is not a metric"),
    ],
)
def test_a_broken_plugin_is_named_where_it_is_used(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        embodied_iqa.metric(name)
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("acme")
def test_subjects_and_cameras_of_plugins_have_plain_names(capsys: pytest.CaptureFixture[str]) -> None:
    vla = embodied_iqa.load_vla("acme-vla")
    assert vla.info.name == "acme-vla"
    with pytest.raises(
        InputError, match=r"the subject acme-gone of acme-iqa 2\.1 is broken: no module acme_gone"
    ):
        embodied_iqa.load_vla("acme-gone")
    with pytest.raises(UsageError, match="unknown VLA; got 'acme-vlo'; did you mean acme-vla"):
        embodied_iqa.load_vla("acme-vlo")
    assert main(["subjects", "check", "acme-vla"]) == 0
    assert main(["subjects", "list"]) == 0
    assert "plug-in acme-vla of acme-iqa 2.1" in capsys.readouterr().out
    config = CameraParameters(source=CameraSource.PYTHON, path="bar", views=(View.TOP,))
    (camera,) = own_cameras(config, itertools.count(5).__next__)
    frame = camera.read(0.0)
    assert frame is not None
    assert frame.stamp_ns == 5
    with pytest.raises(UsageError, match=r"expected module:function; got 'baz'; .*available: acme-cam, bar"):
        own_cameras(replace(config, path="baz"), itertools.count(5).__next__)


@pytest.mark.usefixtures("acme")
def test_the_trial_of_the_guide_passes_its_checks() -> None:
    text = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    section = text.partition("## Offer it to others")[2].replace("\\\n", " ")
    (line,) = re.findall(r"^embodied-iqa trial (.*)", section, re.MULTILINE)
    parser = argparse.ArgumentParser()
    trial.configure(parser)
    graph = trial.check(parser.parse_args(shlex.split(line))).graph
    assert (graph.camera_node.path, graph.vla_node.subject.text) == ("acme-cam", "acme-vla")


@pytest.mark.usefixtures("acme")
def test_an_experiment_runs_in_the_world_of_a_plugin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experiment", "--world", "descent", "--vla", "acme-vla", "--distortions", "19", "--json"]
    assert main([*words, "--scenes", "2", "--out", str(tmp_path / "out")]) == 0
    row = json.loads(capsys.readouterr().out)["all"]
    assert (row["runs"], row["success_rate"]) == (2, 1.0)
    assert judged_camera("python:own_world:make") == (View.TOP, 640, 480)
    assert main([*words, "--gate", "on", "--out", str(tmp_path / "gated")]) == 0
    capsys.readouterr()
    assert main([*words, "--world", "descend", "--out", str(tmp_path / "x")]) == 2
    assert "unknown world; got 'descend'; did you mean descent?" in capsys.readouterr().err
    with pytest.raises(InputError, match="what half makes is not a World; it lacks close, objects, observe"):
        open_world("half")


def test_plugins_are_listed_with_what_is_wrong_and_two_of_one_name_are_refused(
    acme: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "--json"]) == 1
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert {name for name, one in found.items() if one["fault"]} == {
        *("gone", "raises", "nothing"),
        *("acme-gone", "acme-open"),
    }
    assert "leaves open whether it makes a VLM, a VLA or a planner" in found["acme-open"]["fault"]
    assert (found["descent"]["part"], found["descent"]["distribution"]) == ("world", "acme-iqa 2.1")
    assert main(["plugins"]) == 1
    assert "of acme-iqa 2.1 is broken" in capsys.readouterr().out
    install(acme, "other_iqa", "1", "[embodied_iqa.metrics]\nmean-difference = own_metric:MeanDifference2\n")
    with pytest.raises(
        UsageError, match=r"several distributions have a metric mean-difference; .*acme-iqa 2\.1, other"
    ):
        embodied_iqa.metric("mean-difference")
    assert embodied_iqa.measure(IMAGES[0], IMAGES[0], "psnr") == float("inf")


def test_what_can_never_be_named_is_said(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = (
        "[embodied_iqa.metrics]\npsnr = own_metric:MeanDifference\n"
        "[embodied_iqa.subjects]\npanel-vla-query = own_vla:make\n"
        "[embodied_iqa.worlds]\ncell = own_world:make\n"
        "[embodied_iqa.distortions]\nlines = acme:lines\n[embodied_iqa_other]\nx = y:z\n"
    )
    install(acme, "shadowed", "1", entries)
    assert main(["plugins", "--json"]) == 1
    out, err = capsys.readouterr()
    faults = {one["name"]: one["fault"] for one in json.loads(out)}
    for name, part in {"psnr": "metric", "panel-vla-query": "subject", "cell": "world"}.items():
        assert faults[name] == f"no: embodied_iqa has a {part} of this name, and its own come first"
    assert not {"gone", "acme-gone"} & {*embodied_iqa.list_metrics()}
    assert embodied_iqa.list_metrics().count("psnr") == 1
    assert main(["metrics", "list", "--json"]) == 0
    listed = {one["name"]: one["fault"] for one in json.loads(capsys.readouterr().out)["plugins"]}
    assert listed["mean-difference"] is None
    assert listed["psnr"] == faults["psnr"]
    assert "no module acme_gone" in listed["gone"]
    (line,) = err.splitlines()
    assert line.startswith("shadowed 1: the entry points [embodied_iqa.distortions] are ignored; available: ")


def test_without_plugins_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("embodied_iqa.base.plugins.distributions", lambda: ())
    assert find_plugin(PluginGroup.WORLDS, "descent") is None
    assert main(["plugins"]) == 0
    assert "no installed distribution has a part" in capsys.readouterr().out

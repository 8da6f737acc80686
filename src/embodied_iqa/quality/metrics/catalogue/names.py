"""From the name of a metric to the metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, UsageError, UserError, first_line
from embodied_iqa.base.lazy import load
from embodied_iqa.base.plugins import Plugin, PluginGroup, find_plugin, plugin_names, plugins
from embodied_iqa.quality.metrics.built_in import BUILT_IN, built_in, built_in_name
from embodied_iqa.quality.metrics.catalogue.own import make_plugin
from embodied_iqa.quality.metrics.learned.shipped import SHIPPED, shipped_name
from embodied_iqa.quality.metrics.metric import Metric, Needs
from embodied_iqa.quality.metrics.pyiqa.environment import listed_names
from embodied_iqa.quality.metrics.pyiqa.files import PYIQA_NAMES


@dataclass(frozen=True, slots=True)
class Kind:
    """Metrics whose names begin with the same word and a colon.

    Attributes:
        form: How they are named.
        summary: What they are, in a few words.
        factory: ``module:function``; makes the metric of the text behind the colon and is imported on use.
    """

    form: str
    summary: str
    factory: str

    @property
    def word(self) -> str:
        """What stands before the colon."""
        return self.form.partition(":")[0]


KINDS: Final = (
    Kind(
        "policy-distance:SUBJECT",
        "in a subject's features",
        "embodied_iqa.quality.metrics.policy.distance:make",
    ),
    Kind(
        "pyiqa:NAME[@FILE]",
        "of IQA-PyTorch (make pyiqa)",
        "embodied_iqa.quality.metrics.pyiqa.zero_shot:make",
    ),
    Kind("trained:DIR", "of `metrics train`", "embodied_iqa.quality.metrics.learned.trained:make"),
    Kind("python:MODULE:FACTORY", "of your own", "embodied_iqa.quality.metrics.catalogue.own:make"),
)
"""Each kind of metric that is named by a word and a colon."""


@runtime_checkable
class Closable(Protocol):
    """A metric that holds a process, a file or a connection."""

    def close(self) -> None:
        """Release them."""
        ...


def metric_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, separated by commas; a comma in a path, such as of `trained:DIR`, stays.

    Raises:
        UsageError: There is none.
    """
    names: list[str] = []
    for piece in text.split(","):
        if names and _has_path(names[-1]) and not _begins_a_name(piece):
            names[-1] += f",{piece}"
        elif piece.strip():
            names.append(piece)
    if not names:
        raise UsageError("NAMES is wrong", expected="one or more by commas", got=text)
    return tuple(name.strip() for name in names)


def known_metrics(needs: Needs | str | None = None) -> tuple[str, ...]:
    """Return the names of the metrics that need no files: of this package, trained ones last, then plug-ins.

    Plug-ins whose module is not there, or that no name reaches, are left out; see `plugin_fault`.

    Args:
        needs: Only those of this package of this kind; None for all.

    Raises:
        UsageError: No such kind.
    """
    if needs is not None and needs not in set(Needs):
        raise UsageError("not what a metric needs", got=str(needs), available=list(Needs))
    if needs is not None:
        kinds = {name: metric.info.needs for name, metric in BUILT_IN.items()} | SHIPPED
        return tuple(name for name, kind in kinds.items() if kind == needs)
    usable = [plugin.name for plugin in plugins(PluginGroup.METRICS) if not plugin_fault(plugin)]
    return (*BUILT_IN, *SHIPPED, *usable)


def plugin_fault(plugin: Plugin) -> str:
    """Return why a metric of another distribution cannot be used, as far as is known without its code."""
    if is_ours(plugin.name):
        return "no: embodied_iqa has a metric of this name, and its own come first"
    try:
        find_plugin(PluginGroup.METRICS, plugin.name)
        plugin.check()
    except UserError as error:
        return str(error)
    return ""


def is_ours(word: str) -> bool:
    """Return whether a metric of this package has the name, so that no plug-in is reached by it."""
    return built_in_name(word) is not None or shipped_name(word) is not None


def _has_path(name: str) -> bool:
    word, colon, _ = name.partition(":")
    return bool(colon) and not is_ours(word)


def _begins_a_name(piece: str) -> bool:
    word = piece.strip().partition(":")[0]
    known = {kind.word for kind in KINDS}
    return (
        is_ours(word)
        or word in known
        or word in plugin_names(PluginGroup.METRICS)
        or _is_of_pyiqa(piece.strip())
    )


def _is_of_pyiqa(name: str) -> bool:
    """Return whether a plain name, or one with a file of weights, is a metric of pyiqa; asks it last."""
    word = name.partition("@")[0]
    return word in PYIQA_NAMES or word in (listed_names() or ())


def metric_by_name(name: str) -> Metric:
    """Return a metric, ready to measure; close it with `close_metric`.

    Args:
        name: A built-in metric such as ``"ssim"`` or ``"psnr:240x180"``; a trained one of this package such
            as ``"embodied-nr"``; a form of `KINDS`; a plug-in; or a metric that only pyiqa has, such as
            ``"lpips"`` for ``"pyiqa:lpips"``: any name that an installed pyiqa lists.

    Raises:
        UsageError: No such metric.
        UserError: It cannot be loaded.
    """
    word, colon, rest = name.partition(":")
    if built_in_name(word) is not None:
        return built_in(name)
    shipped = shipped_name(name)
    if shipped is not None:
        return _loaded("embodied_iqa.quality.metrics.learned.trained:make_shipped", shipped, name)
    kind = next((kind for kind in KINDS if kind.word == word), None) if colon else None
    if kind is None:
        return _without_kind(name)
    return _loaded(kind.factory, rest, name)


def _loaded(factory: str, target: str, name: str) -> Metric:
    try:
        metric: Metric = load(factory)(target)
    except EmbodiedIqaError:
        raise
    except Exception as error:  # weights and the user's code bring any library's errors
        raise InputError(f"{name} cannot be loaded: {type(error).__name__}: {first_line(error)}") from error
    return metric


def _without_kind(name: str) -> Metric:
    plugin = find_plugin(PluginGroup.METRICS, name)
    if plugin is not None:
        return make_plugin(plugin)
    if _is_of_pyiqa(name):
        return metric_by_name(f"pyiqa:{name}")
    forms = [kind.form for kind in KINDS]
    others = "one of these, or after `make pyiqa` pyiqa:NAME" if listed_names() is None else None
    raise UsageError("unknown metric", expected=others, got=name, available=[*known_metrics(), *forms])


def close_metric(metric: Metric) -> None:
    """Close a metric that can be closed."""
    if isinstance(metric, Closable):
        metric.close()

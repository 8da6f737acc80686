"""The network of a recipe."""

from __future__ import annotations

from embodied_iqa.panel.training.captioners import Captioner, CaptionerShape
from embodied_iqa.panel.training.encoders import ENCODERS
from embodied_iqa.panel.training.policies import FILM_WIDTH, FilmPolicy, QueryPolicy, QueryShape
from embodied_iqa.panel.training.recipes import Recipe

__all__ = ["Network", "feature_width", "make_network"]

Network = FilmPolicy | QueryPolicy | Captioner


def make_network(recipe: Recipe, words: int, answers: int) -> Network:
    """Return a new network.

    Args:
        recipe: Which.
        words: Number of words of tasks.
        answers: Number of words of answers; unused for a VLA.
    """
    if not recipe.is_vla:
        return Captioner(words, answers, CaptionerShape(recipe.encoder, recipe.reader))
    if recipe.encoder == "film":
        return FilmPolicy(words, recipe.reader)
    return QueryPolicy(words, QueryShape(recipe.encoder, recipe.reader, len(recipe.views)))


def feature_width(recipe: Recipe) -> int:
    """Return the number of channels of its features."""
    return FILM_WIDTH if recipe.encoder == "film" else ENCODERS[recipe.encoder][1]

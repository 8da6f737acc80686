"""No test leaves a graphics context open: nothing closes it then, and another test pays for what it holds.

A context that a fixture of a wider scope opened may stay until the end of its module or of the session. The
batch renderers of this thread are kept for the whole session, as a command keeps them: each takes seconds to
compile.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from embodied_iqa.base.kept import keep_open
from embodied_iqa.world.simulation.graphics_contexts import GraphicsContext, open_contexts
from embodied_iqa.world.simulation.kept_renderers import kept_contexts

_scopes: dict[GraphicsContext, str] = {}
"""Scope of the fixture that opened a context, where it is wider than a test."""
_reported: set[GraphicsContext] = set()


@pytest.fixture(scope="session", autouse=True)
def _kept_renderers() -> Iterator[None]:
    """Own the batch renderers of this thread."""
    with keep_open():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Note what a fixture of a wider scope opens."""
    before = set(open_contexts())
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            for context in set(open_contexts()) - before:
                _scopes.setdefault(context, fixturedef.scope)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Fail the test after whose fixtures a context is left open."""
    yield
    left = set(open_contexts()) - kept_contexts() - _reported - _may_stay(item, nextitem)
    if left:
        _reported.update(left)
        made = "\n".join(f"made at {context.made_at} in {context.thread.name}" for context in left)
        pytest.fail(f"{len(left)} graphics contexts were left open:\n{made}", pytrace=False)


def _may_stay(item: pytest.Item, nextitem: pytest.Item | None) -> set[GraphicsContext]:
    """Return the contexts of fixtures that outlive this test."""
    if nextitem is None:
        return set()
    same_module = nextitem.getparent(pytest.Module) is item.getparent(pytest.Module)
    same_class = nextitem.getparent(pytest.Class) is item.getparent(pytest.Class)
    stay = {"session", "package", *(["module"] if same_module else []), *(["class"] if same_class else [])}
    return {context for context, scope in _scopes.items() if scope in stay}

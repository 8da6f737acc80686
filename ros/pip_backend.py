"""How pip builds the package: by setuptools at the top of the working copy, as setup.py here describes it.

colcon looks for no package below another one: the top of the working copy must not be a package of its own,
which it would be with a setup.py.
"""

from pathlib import Path

from setuptools import build_meta

_FOLDER = Path(__file__).parent


class _Backend(type(build_meta.build_wheel.__self__)):
    def run_setup(self, setup_script: str = "setup.py") -> None:
        """Run the description here instead of one in the working folder."""
        super().run_setup(str(_FOLDER / setup_script))


_BACKEND = _Backend()
get_requires_for_build_wheel = _BACKEND.get_requires_for_build_wheel
get_requires_for_build_sdist = _BACKEND.get_requires_for_build_sdist
get_requires_for_build_editable = _BACKEND.get_requires_for_build_editable
prepare_metadata_for_build_wheel = _BACKEND.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _BACKEND.prepare_metadata_for_build_editable
build_wheel = _BACKEND.build_wheel
build_sdist = _BACKEND.build_sdist
build_editable = _BACKEND.build_editable

import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

NAME = "embodied_iqa"
# Resolved: `colcon build --symlink-install` runs this file through a link in its build folder.
FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
# colcon runs this file in its folder, which links to all that is named below, or in one with links to those.
# pip runs it at the top of the working copy. That has no package.xml: colcon looks for none below another.
MANIFEST = "package.xml" if Path("package.xml").exists() else f"{FOLDER.name}/package.xml"
LINKED = ("config", "launch", "requirements", "resource", "src")
WANTED = "git with core.symlinks, tar and unzip make them"
if MANIFEST == "package.xml" and not all((FOLDER / name).is_dir() for name in LINKED):
    raise SystemExit(f"{FOLDER} has no links to {', '.join(LINKED)}: {WANTED}")
# pip reads the description of the package itself, colcon gets it from here.
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def version() -> str:
    text = (ROOT / "src" / NAME / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"src/{NAME}/__init__.py has no __version__")
    return match[1]


def tree(folder: str, pattern: str = "*") -> list[tuple[str, list[str]]]:
    """A folder and those below it, as data files that keep their places in share/."""
    files = sorted(
        path.relative_to(ROOT)
        for path in (ROOT / folder).rglob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    )
    return [
        (f"share/{NAME}/{parent}", [str(file) for file in files if file.parent == parent])
        for parent in sorted({file.parent for file in files})
    ]


def executables() -> list[str]:
    """The nodes, where `ros2 run` and launch files look for them: copies of what the links lead to."""
    nodes = sorted((ROOT / "resource" / "executables").glob("*_node"))
    # Without symbolic links git writes files with the paths: no node of them would start.
    if broken := [path.name for path in nodes if not path.read_bytes().startswith(b"#!")]:
        raise SystemExit(f"resource/executables has no links {', '.join(broken)}: {WANTED}")
    return [str(path.relative_to(ROOT)) for path in nodes]


(MAINTAINER,) = PROJECT["maintainers"]
setup(
    name=NAME,
    version=version(),
    description=PROJECT["description"],
    long_description=(ROOT / PROJECT["readme"]).read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license=PROJECT["license"],
    keywords=PROJECT["keywords"],
    classifiers=PROJECT["classifiers"],
    maintainer=MAINTAINER["name"],
    maintainer_email=MAINTAINER["email"],
    python_requires=PROJECT["requires-python"],
    install_requires=PROJECT["dependencies"],
    extras_require=PROJECT["optional-dependencies"],
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={
        NAME: [
            "py.typed",
            *(
                f"**/*.{kind}"
                for kind in ("css", "html", "j2", "js", "json", "npz", "onnx", "safetensors", "yaml")
            ),
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", [MANIFEST]),
        *tree("launch", "*.py"),
        *tree("config"),
        *tree("requirements", "*.txt"),
        (f"lib/{NAME}", executables()),
    ],
    entry_points={
        "console_scripts": [f"{name} = {target}" for name, target in PROJECT["scripts"].items()],
    },
    zip_safe=False,
)

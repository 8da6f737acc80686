from pathlib import Path

from setuptools import find_packages, setup

NAME = "embodied_iqa"
ROOT = Path(__file__).parent


def files_of(folder: str, *patterns: str) -> list[str]:
    return sorted(
        str(path.relative_to(ROOT))
        for pattern in patterns
        for path in (ROOT / folder).glob(pattern)
        if path.is_file()
    )


setup(
    name=NAME,
    version="0.1.0",
    description="Image quality as a robot feels it: measure it, record it, gate a policy with it (ROS 2)",
    license="Apache-2.0",
    maintainer="embodied_iqa maintainers",
    maintainer_email="maintainers@embodied-iqa.org",
    python_requires=">=3.11",
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={
        NAME: ["**/*.npz", "**/*.json", "**/*.yaml", "**/*.html", "**/*.safetensors", "**/*.j2", "**/*.css"]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", files_of("launch", "*.py")),
        (f"share/{NAME}/config", files_of("config", "*")),
    ],
    entry_points={"console_scripts": ["embodied-iqa = embodied_iqa.cli.main:main"]},
    zip_safe=True,
)

"""``python -m minamo``: print the versions that a bug report should name."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from minamo import __version__

_PACKAGES = ("hikari", "python-statemachine", "aiohttp", "anyio", "attrs", "msgspec", "PyYAML")


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main() -> None:
    """Print one line per version."""
    print(f"hikari-minamo {__version__} in {Path(__file__).resolve().parent}")
    print(f"{platform.python_implementation()} {sys.version.split()[0]}, {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package} {_installed(package)}")


if __name__ == "__main__":
    main()

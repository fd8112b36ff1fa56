"""Find charts: the ones that come with minamo, or a folder of one's own."""

from __future__ import annotations

from pathlib import Path

from minamo.errors import ChartError
from minamo.machine.chart import Chart
from minamo.machine.nodes import hint
from minamo.machine.reader import read

_PACKAGE = Path(__file__).resolve().parent.parent


def home() -> Path:
    """The folder of minamo's own charts.

    A wheel carries them inside the package.  A checkout, also an editable install of one, has
    them in its top folder, and there alone.
    """
    packed = _PACKAGE / "statecharts"
    return packed if packed.is_dir() else _PACKAGE.parent.parent / "statecharts"


def chart_names(folder: Path | None = None) -> list[str]:
    """The names of the charts in *folder*, sorted."""
    return sorted(path.stem for path in (folder or home()).glob("*.yaml"))


def load(source: str | Path) -> Chart:
    """Read a chart: one of minamo's by its name, or any file by its path.

    Raises:
        ChartError: naming the file, the line and what to do.
    """
    if isinstance(source, str):
        path = home() / f"{source}.yaml"
        if not path.is_file():
            raise ChartError(f"there is no chart {source!r}{hint(source, chart_names())}")
    else:
        path = source
    try:
        return read(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError:
        raise ChartError("not UTF-8 text; save it as UTF-8", file=path.name) from None
    except OSError as error:
        raise ChartError(f"cannot be read: {error.strerror}", file=path.name) from None

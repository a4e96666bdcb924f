"""Charts, one file each: ``chart(analysis) -> Chart``. Adding one is a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from analysis.charts.chart import Chart, document
from analysis.types import Analysis

__all__ = ["CHARTS", "Chart", "document", "make"]

CHARTS: Mapping[str, str] = {
    "kernel_bars": "analysis.charts.kernel_bars",
    "roofline": "analysis.charts.roofline",
}


def make(name: str, analysis: Analysis) -> Chart:
    """The chart of this name. Raises KeyError when there is none."""
    made: Chart = import_module(CHARTS[name]).chart(analysis)
    return made

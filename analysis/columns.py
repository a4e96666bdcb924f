"""The columnar file of a profile: every launch and every metric, one array a column.

numpy's own container (``.npz``) holds it: no further dependency, one file, read column by column. Missing
values are NaN for numbers and the empty string for text; ``read`` gives them back as None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from analysis.types import Launch, Profile, Value


def write(profile: Profile, path: Path) -> None:
    """Decode every launch once and write the table. Launches are rows, in the profile's order."""
    metrics: dict[str, dict[int, Value]] = {}
    for row, launch in enumerate(profile.launches):
        for name, value in launch.load().metrics.items():
            metrics.setdefault(name, {})[row] = value
    count = len(profile.launches)
    columns = {f"metric:{name}": column(values, count) for name, values in sorted(metrics.items())}
    np.savez_compressed(path, **launch_columns(profile.launches), **columns)


def launch_columns(launches: tuple[Launch, ...]) -> dict[str, Any]:
    return {
        "index": np.array([launch.index for launch in launches], dtype=np.int64),
        "mangled": np.array([launch.mangled for launch in launches], dtype=np.str_),
        "cost": np.array([nan(launch.cost) for launch in launches], dtype=np.float64),
        "shape": np.array([json.dumps([launch.grid, launch.block]) for launch in launches], dtype=np.str_),
    }


def column(values: Mapping[int, Value], count: int) -> Any:
    """Numbers when every value present is one, else text."""
    present = [value for value in values.values() if value is not None]
    if all(isinstance(value, (int, float)) for value in present):
        return np.array([nan(values.get(row)) for row in range(count)], dtype=np.float64)
    return np.array(["" if values.get(row) is None else str(values[row]) for row in range(count)], dtype=np.str_)


def nan(value: Value) -> float:
    return float("nan") if value is None or isinstance(value, str) else float(value)


def read(path: Path, names: tuple[str, ...]) -> dict[str, list[Value]]:
    """The named columns (``cost``, ``mangled``, ``metric:NAME``...), in launch order. Unknown names are left out."""
    with np.load(path) as table:
        return {name: [given_back(item) for item in table[name].tolist()] for name in names if name in table.files}


def given_back(item: Any) -> Value:
    if item == "" or item != item:
        return None
    value: Value = item
    return value

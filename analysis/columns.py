"""The columnar file of a profile: every launch and every metric, one array a column.

numpy's own container (``.npz``) holds it: no further dependency, one file, read column by column. Missing
values are NaN for numbers and the empty string for text; ``read`` gives them back as None.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from analysis.types import Launch, Profile, Value


def write(profile: Profile, path: Path) -> None:
    """Decode every launch once and write the table. Launches are rows, in the profile's order."""
    count = len(profile.launches)
    numbers: dict[str, Any] = defaultdict(lambda: np.full(count, np.nan))
    texts: dict[str, dict[int, str]] = defaultdict(dict)
    for row, launch in enumerate(profile.launches):
        for name, value in launch.load().metrics.items():
            if isinstance(value, str):
                texts[name][row] = value
            else:
                numbers[name][row] = nan(value)
    columns = {name: column(numbers.get(name), texts.get(name, {}), count) for name in sorted({*numbers, *texts})}
    named = {f"metric:{name}": values for name, values in columns.items()}
    np.savez_compressed(path, **launch_columns(profile.launches), **named)


def launch_columns(launches: tuple[Launch, ...]) -> dict[str, Any]:
    return {
        "index": np.array([launch.index for launch in launches], dtype=np.int64),
        "mangled": np.array([launch.mangled for launch in launches], dtype=np.str_),
        "cost": np.array([nan(launch.cost) for launch in launches], dtype=np.float64),
        "shape": np.array([json.dumps([launch.grid, launch.block]) for launch in launches], dtype=np.str_),
    }


def column(numbers: Any, texts: Mapping[int, str], count: int) -> Any:
    """Numbers when every value present is one, else text."""
    if not texts:
        return numbers
    said = ["" if numbers is None or each != each else f"{each:.17g}" for each in _each(numbers, count)]
    return np.array([texts.get(row, said[row]) for row in range(count)], dtype=np.str_)


def _each(numbers: Any, count: int) -> list[float]:
    return [float("nan")] * count if numbers is None else numbers.tolist()


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

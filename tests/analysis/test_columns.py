"""The columnar file: every launch and metric, there and back."""

from __future__ import annotations

from pathlib import Path

from profile_builder import gpu, launch

from analysis import columns


def test_numbers_text_and_what_is_missing_come_back(tmp_path: Path) -> None:
    profile = gpu(
        launch("a", 10, metrics={"count": 3, "share": 0.25, "name": "H200", "mixed": "none", "empty": None}),
        launch("b", None, metrics={"count": 2**40, "name": None, "mixed": 7}),
        launch("c", 5, metrics={}),
    )
    columns.write(profile, tmp_path / "columns.npz")
    names = ("mangled", "cost", *(f"metric:{name}" for name in ("count", "share", "name", "mixed", "empty", "gone")))
    assert columns.read(tmp_path / "columns.npz", names) == {
        "mangled": ["a", "b", "c"],
        "cost": [10, None, 5],
        "metric:count": [3, 2**40, None],
        "metric:share": [0.25, None, None],
        "metric:name": ["H200", None, None],
        "metric:mixed": ["none", "7", None],
        "metric:empty": [None, None, None],
    }

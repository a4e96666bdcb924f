"""A print of ncu without a launch ends in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from ncu_pages import (
    METRICS,
    RAW,
    ROWS,
    details,
    raw,
    read_text,
)  # fmt: skip

from optimas_web.errors import UserError


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (
            "==PROF== Connected to process 1\n==ERROR== ERR_NVGPUCTRPERM - no\n==WARNING== No kernels were profiled.\n",
            "page.csv holds messages and no launch: ncu had no permission to read the performance counters of the GPU.",
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        (
            details([]),
            "page.csv holds the head of ncu's details page and nothing below it: no kernel was profiled.",
            "-k",
        ),
        (
            raw(METRICS, []),
            "page.csv holds the head of ncu's raw page and nothing below it: no kernel was profiled.",
            "-k",
        ),
        ("", "page.csv is not a profile that can be read: it seems to be empty.", "ncu --set full"),
        (
            "==WARNING== No kernels were profiled.\n",
            "page.csv holds messages and no launch: ncu profiled no kernel.",
            "-k",
        ),
        (
            "==ERROR== Could not open report file x.ncu-rep\n",
            "page.csv holds messages and no launch: ncu could not open the report that it was to print.",
            "--import",
        ),
        (
            "==ERROR== Something new happened.\n",
            'page.csv holds messages of ncu and no launch. It says: "Something new happened."',
            "ncu --set full",
        ),
        ("==PROF== Connected to process 1\n", "page.csv holds messages of ncu and no launch.", "ncu --set full"),
        (
            '"Session Attribute","Value"\n"a","b"\n',
            "page.csv holds only ncu's session page: settings of the device, and no launch.",
            "--page raw",
        ),
        (
            '"ID","Process ID","Process Name"\n',
            "page.csv holds the beginning of a table of ncu and no launch: it may have been cut off.",
            "ncu --set full",
        ),
        (
            raw(METRICS, [ROWS[0][:13]]),
            "page.csv holds no launch that can be read. Line 3: the row has 13 cells where the header has 15: this"
            " launch is left out.",
            "ncu --set full",
        ),
    ],
)
def test_a_file_without_launches_is_one_sentence_and_a_remedy(
    tmp_path: Path, text: str, sentence: str, hint: str
) -> None:
    with pytest.raises(UserError) as failure:
        read_text(tmp_path, text)
    assert failure.value.message == sentence
    assert hint in failure.value.hint


def test_a_file_that_is_gone_when_a_launch_is_loaded_is_a_sentence(tmp_path: Path) -> None:
    profile = read_text(tmp_path, RAW)
    (tmp_path / "page.csv").unlink()
    with pytest.raises(UserError, match="page.csv cannot be read again: No such file or directory"):
        profile.launches[0].load()

"""What ``nsys stats`` prints: old and new names and units, sums without single launches, single launches."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Kernel, Profile
from optimas_web.errors import UserError

NEW = """\
Processing [run.sqlite] with [cuda_gpu_kern_sum.py]...

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,300000,4,75000.0,41280.5,100,200000,886.2,"void scale<float, (bool)1>(const T1 *, T1 *)"
25.0,100000,1,100000.0,100000.0,100000,100000,0.0,copyEdge(float *)

Time (%),Total Time (ns),Num Calls,Avg (ns),Name
99.0,5,1,5,cudaFree
"""
OLD = """\
"Time(%)","Total Time (us)","Instances","Average","Minimum","Maximum","Name"
75.0,300.0,4,75.0,1,200,"void scale<float, true>(const T1*, T1*)"
25.0,100.0,1,100.0,100,100,"copyEdge(float*)"
"""
BY_SHAPE = """\
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name
60.0,600,2,300,300,1,9,1,"  64    1    1","  256    1    1",smooth(float *)
40.0,400,1,400,400,1,9,1,4096    1    1, 256    1    1,smooth(float *)
"""
TRACE = """\
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,Bytes (MB),Device,Ctx,Strm,Name
100,2080,1,,,,,,,,1.0,NVIDIA H200 (0),1,7,[CUDA memcpy Host-to-Device]
200,10000,2,64,1,1,256,1,1,32,,NVIDIA H200 (0),1,7,smooth(float *)
300,12000,3,64,1,1,256,1,1,32,,NVIDIA H200 (0),1,7,smooth(float *)
400,90000,4,4096,1,1,256,1,1,32,,NVIDIA H200 (0),1,7,smooth(float *)
500,11000,5,64,1,1,256,1,1,32,,NVIDIA H200 (0),1,7,smooth(float *)
"""


def printed(tmp_path: Path, text: str | bytes) -> Profile:
    path = tmp_path / "kernels.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path)


def kernels(profile: Profile) -> list[Kernel]:
    return [each.kernel for each in analyse(profile, {}).kernels]


@pytest.mark.parametrize(
    "text", [NEW, OLD, NEW.replace("\n", "\r\n"), NEW.encode("utf-16"), b"\xef\xbb\xbf" + OLD.encode()]
)
def test_old_and_new_names_and_units_say_the_same(tmp_path: Path, text: str | bytes) -> None:
    profile = printed(tmp_path, text)
    scale, copy = kernels(profile)
    assert (profile.format, profile.launch_count, profile.whole_run) == ("nsys_stats", 5, True)
    assert (scale.name, scale.short_name) == ("void scale<float, true>(const T1*, T1*)", "scale")
    assert (scale.launch_count, scale.total_cost, scale.share) == (4, 300_000, 0.75)
    assert (copy.short_name, copy.total_cost) == ("copyEdge", 100_000)


def test_a_summary_has_the_printed_median_and_no_single_launches(tmp_path: Path) -> None:
    profile = printed(tmp_path, NEW)
    assert (profile.launches, profile.timeline, profile.tallies[0].costs) == ((), None, None)
    assert kernels(profile)[0].median_cost == 41280.5


def test_a_summary_without_a_median_has_none(tmp_path: Path) -> None:
    assert [kernel.median_cost for kernel in kernels(printed(tmp_path, OLD))] == [None, None]


def test_medians_of_shapes_do_not_give_that_of_the_kernel(tmp_path: Path) -> None:
    (smooth,) = kernels(profile := printed(tmp_path, BY_SHAPE))
    assert (smooth.launch_count, smooth.total_cost, smooth.median_cost) == (3, 1000, None)
    assert [tally.grid for tally in profile.tallies] == [(64, 1, 1), (4096, 1, 1)]


def test_a_trace_has_launches_of_kernels_and_no_copies(tmp_path: Path) -> None:
    (smooth,) = kernels(profile := printed(tmp_path, TRACE))
    assert (smooth.launch_count, smooth.total_cost, smooth.median_cost) == (4, 123_000, 11_500)
    assert {tally.device for tally in profile.tallies} == {"NVIDIA H200 (0)"}


def test_of_several_tables_the_most_detailed_one_is_taken(tmp_path: Path) -> None:
    profile = printed(tmp_path, f"{NEW}\n{BY_SHAPE}")
    assert [kernel.short_name for kernel in kernels(profile)] == ["smooth"]
    assert "2 tables of kernels" in profile.warnings[0]


def test_a_summary_without_its_last_rows_says_so(tmp_path: Path) -> None:
    profile = printed(
        tmp_path, NEW.replace("25.0,100000,1,100000.0,100000.0,100000,100000,0.0,copyEdge(float *)\n", "")
    )
    assert "75 % of the time" in profile.warnings[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NEW.replace("Total Time (ns)", "Total Time (weeks)"), "'weeks' is no unit of time"),
        (NEW.replace("300000", "many"), "'many' is no number for the column total"),
        (NEW.replace("300000", "inf"), "'inf' is no number for the column total"),
        (NEW.replace("300000,4", "300000,-4"), "'-4' is no number for the column count"),
        (NEW.replace("300000,4", "300000,0"), "'0' is no number for the column Instances"),
        ("Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n99.0,5,1,5,cudaFree\n", "no table of kernels"),
    ],
)
def test_what_cannot_be_understood_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=r"kernels\.csv.*" + said.replace("(", r"\(")):
        printed(tmp_path, text)


@pytest.mark.parametrize("text", [NEW, BY_SHAPE, TRACE])
def test_damaged_tables_end_in_a_sentence_or_a_profile(tmp_path: Path, text: str) -> None:
    chance = random.Random(8)
    pieces = (b'"', b",", b"\n", b"\0", b"-", b"1e999", b"\xff", b"(")
    for _ in range(150):
        damaged = bytearray(text.encode())
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(3)] = chance.choice(pieces)
        with suppress(UserError):
            assert printed(tmp_path, bytes(damaged)).tallies is not None

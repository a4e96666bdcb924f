"""rocprofv3's CSV files and databases, as its documentation describes them: none of these was taken on an AMD GPU."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from analysis.combine import Report, combine
from analysis.documents import analysis_document
from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Kernel, Profile
from optimas_web.errors import UserError

SIZES = '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
START = '"Correlation_Id","Start_Timestamp","End_Timestamp"'
SMOOTH = '"KERNEL_DISPATCH","Agent 2",1,0,7,1,3,"void smooth<float>(float*, int)",'
TRACE = f"""\
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",{START},"LDS_Block_Size",{SIZES}
{SMOOTH}1,9007199254740993000,9007199254740993010,0,64,1,1,1024,1,1
{SMOOTH}2,200,212,0,64,1,1,1024,1,1
{SMOOTH}3,300,390,0,64,1,1,1000,2,1
"KERNEL_DISPATCH","Agent 3",1,0,7,4,4,"_Z4onceiPf.kd",4,400,495,0,64,1,1,64,1,1
"""
OLD = f"""\
"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",{START},"Private_Segment_Size",{SIZES}
"KERNEL_DISPATCH",4,1,7,1,3,"smooth(float*, int)",1,100,110,0,64,1,1,1024,1,1
"""
STATS = """\
"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"smooth(float*, int)",4,123000,30750.0,56.4,10000,90000,1.0
"once(int, float*)",1,95000,95000.0,43.6,95000,95000,0.00000000e+00
"""
COUNTERS = """\
"Correlation_Id","Dispatch_Id","Agent_Id","Process_Id","Grid_Size","Kernel_Name","Workgroup_Size","VGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 2",7,1024,"void smooth<float>(float*, int)",64,8,"SQ_WAVES",16.000000,100,110
1,1,"Agent 2",7,1024,"void smooth<float>(float*, int)",64,8,"TCC_HIT",3,100,110
1,1,"Agent 2",7,1024,"void smooth<float>(float*, int)",64,8,"TCC_HIT",4,100,110
2,2,"Agent 2",7,1024,"void smooth<float>(float*, int)",64,8,"SQ_WAVES",17,200,212
"""


def stored(tmp_path: Path, text: str, name: str = "out.csv") -> Profile:
    (tmp_path / name).write_text(text)
    return read(tmp_path / name)


def kernels(profile: Profile) -> list[Kernel]:
    return [each.kernel for each in analyse(profile, {}).kernels]


def test_a_trace_gives_launches_with_grids_in_blocks(tmp_path: Path) -> None:
    profile = stored(tmp_path, TRACE)
    smooth, once = kernels(profile)
    assert (smooth.short_name, smooth.launch_count, smooth.total_cost, smooth.median_cost) == ("smooth", 3, 112, 12)
    assert (once.mangled, once.name, once.total_cost) == ("_Z4onceiPf", "once(int, float*)", 95)
    shapes = [(tally.grid, tally.block, tally.device) for tally in profile.tallies]
    assert shapes[:2] == [((16, 1, 1), (64, 1, 1), "Agent 2"), ((16, 2, 1), (64, 1, 1), "Agent 2")]
    assert profile.whole_run


def test_older_columns_are_read_by_their_names(tmp_path: Path) -> None:
    (tally,) = stored(tmp_path, OLD).tallies
    assert (tally.device, tally.grid, tally.total) == ("4", (16, 1, 1), 10)


def test_sums_have_no_median_and_no_single_launches(tmp_path: Path) -> None:
    smooth, once = kernels(stored(tmp_path, STATS))
    assert (smooth.launch_count, smooth.total_cost, smooth.median_cost) == (4, 123_000, None)
    assert once.share == pytest.approx(95 / 218)


def test_counters_keep_their_names_and_instances_add_up(tmp_path: Path) -> None:
    profile = stored(tmp_path, COUNTERS)
    first, second = (launch.load().metrics for launch in profile.launches)
    assert (first["SQ_WAVES"], first["TCC_HIT"], first["VGPR_Count"], second["SQ_WAVES"]) == (16, 7, 8, 17)
    assert [launch.cost for launch in profile.launches] == [10, 12]
    assert not profile.whole_run


def test_a_trace_and_counters_become_one_profile(tmp_path: Path) -> None:
    reports = [Report(name, stored(tmp_path, text, name)) for name, text in (("t.csv", TRACE), ("c.csv", COUNTERS))]
    smooth = kernels(combine(reports))[0]
    assert (smooth.launch_count, smooth.launches) == (3, (0, 1))


@pytest.mark.parametrize("text", [TRACE, STATS, COUNTERS])
def test_all_of_it_is_labelled_as_not_checked_and_names_no_tool_of_another_vendor(tmp_path: Path, text: str) -> None:
    profile = stored(tmp_path, text)
    notes = analyse(profile, {}).doctor
    assert "not checked on real files" in profile.tool
    assert any("not checked on real files" in note.message for note in notes)
    assert not any("ncu" in note.remedy or "nsys" in note.remedy for note in notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COUNTERS.replace("16.000000", "lots"), "row 2 has 'lots' in the column Counter_Value"),
        (COUNTERS.replace("16.000000", "nan"), "row 2 has 'nan' in the column Counter_Value"),
        (STATS.replace(",4,123000", ",0,123000"), "row 2 has no number of calls"),
        (TRACE.replace(",200,212,", ",200,212,9,9,"), "row 3 has 20 cells, and the heading 18"),
    ],
)
def test_what_cannot_be_understood_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        stored(tmp_path, text)


# --- rocpd ---------------------------------------------------------------------------------------------

SESSION = "_0000ae1f_d3f4_77b2_9b7a_1c2d3e4f5a6b"
SCHEMA = f"""
CREATE TABLE rocpd_info_kernel_symbol{SESSION} (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
CREATE TABLE rocpd_info_agent{SESSION} (id INTEGER PRIMARY KEY, type TEXT, type_index INTEGER, name TEXT,
  product_name TEXT);
CREATE TABLE rocpd_info_process{SESSION} (id INTEGER PRIMARY KEY, command TEXT, environment TEXT);
CREATE TABLE rocpd_info_pmc{SESSION} (id INTEGER PRIMARY KEY, name TEXT, symbol TEXT);
CREATE TABLE rocpd_pmc_event{SESSION} (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);
CREATE TABLE rocpd_kernel_dispatch{SESSION} (id INTEGER PRIMARY KEY, agent_id INTEGER, kernel_id INTEGER, start BIGINT,
  "end" BIGINT, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER,
  grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM rocpd_kernel_dispatch{SESSION};
INSERT INTO rocpd_info_kernel_symbol{SESSION}
  VALUES (3, '_Z6smoothPfi.kd', 'smooth(float*, int)'), (4, 'once.kd', NULL);
INSERT INTO rocpd_info_agent{SESSION} VALUES (0, 'CPU', 0, 'cpu', 'A CPU'), (2, 'GPU', 0, 'gfx942', 'An Instinct');
INSERT INTO rocpd_info_process{SESSION} VALUES (1, './ponds', 'HOME=/home/ada');
INSERT INTO rocpd_info_pmc{SESSION} VALUES (1, 'SQ_WAVES', 'SQ_WAVES');
INSERT INTO rocpd_pmc_event{SESSION} VALUES (1, 11, 1, 16.0), (2, 11, 1, 2.0);
INSERT INTO rocpd_kernel_dispatch{SESSION} VALUES (1, 2, 3, 100, 110, 64, 1, 1, 1024, 1, 1, 11),
  (2, 2, 3, 200, 212, 64, 1, 1, 1024, 1, 1, 12), (3, 2, 4, 300, NULL, 64, 1, 1, 64, 1, 1, NULL);
"""


def database(tmp_path: Path, schema: str = SCHEMA) -> Path:
    path = tmp_path / "results.db"
    with sqlite3.connect(path) as to:
        to.executescript(schema)
    to.close()
    return path


def test_a_database_gives_launches_by_session(tmp_path: Path) -> None:
    profile = read(database(tmp_path))
    smooth, once = kernels(profile)
    assert (smooth.mangled, smooth.name, smooth.launch_count, smooth.total_cost) == (
        "_Z6smoothPfi", "smooth(float*, int)", 2, 22,
    )  # fmt: skip
    assert (once.short_name, once.launch_count, once.total_cost) == ("once", 1, None)
    assert (profile.format, profile.device and profile.device.name) == ("rocpd", "An Instinct")
    assert (profile.tallies[0].device, profile.tallies[0].grid) == ("0: An Instinct", (16, 1, 1))
    assert "ada" not in repr(profile)


def test_counters_of_a_database_stand_at_their_launches(tmp_path: Path) -> None:
    document = analysis_document(analyse(read(database(tmp_path)), {}), launches=True)
    launches = document["launches"]
    assert isinstance(launches, list)
    assert [launch["metrics"] for launch in launches] == [{"SQ_WAVES": 18.0}, {}, {}]


def test_another_version_of_the_tables_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"results\.db has another version of rocpd's tables: no column start"):
        read(database(tmp_path, SCHEMA.replace(" start BIGINT,", " start_id BIGINT,")))

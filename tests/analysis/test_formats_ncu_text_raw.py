"""The raw page, as ncu prints it and as people bring it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ncu_pages import (
    BYTES,
    COSTS,
    INSTRUCTIONS,
    METRICS,
    RAW,
    SETTLE,
    SHARE,
    TIME,
    costs,
    launch,
    raw,
    read_text,
)  # fmt: skip

from analysis.hotspots import rank
from analysis.pipeline import analyse
from optimas_web.errors import UserError


def test_a_raw_page_is_launches_with_metrics_in_base_units(tmp_path: Path) -> None:
    profile = read_text(tmp_path, RAW)
    assert costs(profile) == COSTS
    first, _, last = (each.load().metrics for each in profile.launches)
    assert first == {TIME: 12_500, BYTES: 1_572_864, SHARE: 37.11, INSTRUCTIONS: 1_048_576}
    assert last[SHARE] is None
    assert profile.launches[0].grid == (64, 2, 1) and profile.launches[0].block == (128, 1, 1)
    assert profile.device and profile.device.compute_capability == (9, 0)
    assert (profile.format, profile.cost_unit, profile.whole_run, profile.clocks_locked) == (
        "ncu_text",
        "ns",
        False,
        None,
    )
    assert profile.warnings == ()


def test_names_are_whole_and_read_as_those_of_a_report(tmp_path: Path) -> None:
    settle, drain, _ = read_text(tmp_path, RAW).launches
    assert drain.name == "void drain<4, Order<settle>>(float*, int)"
    assert settle.name == settle.mangled == "settle(const float*, float*, int)"
    mangled = read_text(tmp_path, RAW.replace(SETTLE, "_Z6settlePKfPfi")).launches[0]
    assert (mangled.mangled, mangled.name) == ("_Z6settlePKfPfi", "settle(float const*, float*, int)")


@pytest.mark.parametrize("name", ["settle", "^settle$", SETTLE.replace(" *", "*")])
def test_a_name_in_the_arguments_of_another_kernel_does_not_choose_it(tmp_path: Path, name: str) -> None:
    found = analyse(read_text(tmp_path, RAW), {}, kernels=name)
    assert [(each.kernel.short_name, each.kernel.total_cost) for each in found.kernels] == [("settle", 24_750)]


def test_template_arguments_can_be_asked_for(tmp_path: Path) -> None:
    found = analyse(read_text(tmp_path, RAW), {}, kernels="drain<4")
    assert [each.kernel.short_name for each in found.kernels] == ["drain"]


@pytest.mark.parametrize(
    ("codec", "change"),
    [
        ("utf-8", str),
        ("utf-8-sig", str),
        ("utf-16", str),
        ("utf-16-le", str),
        ("utf-8", lambda text: text.replace("\n", "\r\n")),
        ("utf-16", lambda text: text.replace("\n", "\r\n")),
    ],
)
def test_every_encoding_reads_the_same(tmp_path: Path, codec: str, change: Callable[[str], str]) -> None:
    profile = read_text(tmp_path, change(RAW).encode(codec))
    assert costs(profile) == COSTS
    assert profile.launches[2].load().metrics[INSTRUCTIONS] == 1_048_576
    assert profile.warnings == ()


def test_utf_16_that_holds_the_byte_of_a_line_end_in_other_letters(tmp_path: Path) -> None:
    name = "w\u010aa\u0a41t(int)"
    profile = read_text(tmp_path, RAW.replace(SETTLE, name).encode("utf-16"))
    assert [each.name for each in profile.launches][::2] == [name, name]


def test_big_endian_utf_16(tmp_path: Path) -> None:
    assert costs(read_text(tmp_path, b"\xfe\xff" + RAW.encode("utf-16-be"))) == COSTS


def test_lines_of_programs_and_tools_are_passed_over_and_counted(tmp_path: Path) -> None:
    head, units, *rows = RAW.splitlines(keepends=True)
    noise = [
        "==PROF== Connected to process 4711\n", '==WARNING== not copied: "/srv", see there\n', "step,residual,time\n",
        "0,0.5,1.2\n", '"a","line","of","the","program"\n',
    ]  # fmt: skip
    between = ['ponds said "hello\n', "7,0.5,1.2,a,b,c,d,e,f,g,h,i\n", '"3","x"\n']
    text = "".join([*noise, head, units, rows[0], *between, *rows[1:], "==PROF== Disconnected\n", "\n"])
    profile = read_text(tmp_path, text)
    assert costs(profile) == COSTS
    assert profile.warnings == ("9 lines of page.csv belong to no table and were passed over.",)


def test_a_row_that_is_cut_short_costs_only_its_launch(tmp_path: Path) -> None:
    lines = RAW.splitlines(keepends=True)
    lines[3] = lines[3][:150] + '"\n'
    profile = read_text(tmp_path, "".join(lines))
    assert costs(profile) == [COSTS[0], COSTS[2]]
    assert profile.warnings[0].startswith("Line 4: the row has ")


def test_a_page_that_was_printed_twice_counts_once(tmp_path: Path) -> None:
    profile = read_text(tmp_path, RAW + RAW)
    assert costs(profile) == COSTS
    assert profile.warnings == ("3 lines of page.csv say again what another one says, and count once.",)


def test_launches_with_one_id_in_several_processes_are_several(tmp_path: Path) -> None:
    rows = [[*launch(0, process=str(pid)), "1.5", "1", "2", "3"] for pid in (1, 2, 3)]
    profile = read_text(tmp_path, raw(METRICS, rows))
    assert len(profile.launches) == 3 and rank(profile)[0].launch_count == 3


def test_repeated_launches_are_all_kept(tmp_path: Path) -> None:
    times = ("10.0", "12.0", "90.0", "11.0")
    rows = [[*launch(n, grid=f"({4 + n // 2}, 1, 1)"), time] for n, time in enumerate(times)]
    (kernel,) = rank(read_text(tmp_path, raw({TIME: "us"}, rows)))
    assert (kernel.launch_count, kernel.total_cost, kernel.median_cost) == (4, 123_000, 11_500)


def test_an_unknown_unit_is_named_and_never_factor_one(tmp_path: Path) -> None:
    profile = read_text(tmp_path, RAW.replace('"us"', '"fortnight"').replace('"Mbyte"', '"Mfurlong"'))
    assert [cost for _, cost in costs(profile)] == [None, None, None]
    assert profile.launches[0].load().metrics[BYTES] is None
    assert profile.launches[0].load().metrics[INSTRUCTIONS] == 1_048_576
    assert profile.warnings == (
        "Line 2: the unit 'fortnight' of gpu__time_duration.sum is not known: its values are left out.",
        "Line 2: the unit 'Mfurlong' of dram__bytes.sum is not known: its values are left out.",
    )


def test_a_semicolon_and_decimal_commas(tmp_path: Path) -> None:
    rows = [[*launch(0), "41,28", "2.391,07"], [*launch(1), "1.408,00", "11,50"]]
    profile = read_text(tmp_path, raw({TIME: "us", BYTES: "Mbyte"}, rows, ";"))
    assert costs(profile) == [("settle", 41_280), ("settle", 1_408_000)]
    assert profile.launches[0].load().metrics[BYTES] == 2_391_070_000


def test_a_comma_that_other_numbers_explain(tmp_path: Path) -> None:
    rows = [[*launch(0), "1,408"], [*launch(1), "41.28"]]
    assert costs(read_text(tmp_path, raw({TIME: "us"}, rows))) == [("settle", 1_408_000), ("settle", 41_280)]


def test_a_comma_that_a_count_explains(tmp_path: Path) -> None:
    rows = [[*launch(0), "1,408", "2,097"]]
    assert costs(read_text(tmp_path, raw({TIME: "us", INSTRUCTIONS: "inst"}, rows))) == [("settle", 1_408_000)]


def test_a_comma_that_nothing_explains_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="1,408 could be a thousand and more or a number with three decimals"
    ) as failure:
        read_text(tmp_path, raw({TIME: "us"}, [[*launch(0), "1,408"]]))
    assert "LC_ALL=C ncu" in failure.value.hint


def test_a_number_of_another_locale_in_one_cell_is_left_out_and_said(tmp_path: Path) -> None:
    rows = [[*launch(0), "41.28", "1"], [*launch(1), "41.28", "1,5"]]
    detail = read_text(tmp_path, raw({TIME: "us", BYTES: "Mbyte"}, rows)).launches[1].load()
    assert detail.metrics[BYTES] is None
    assert detail.warnings == ("dram__bytes.sum: '1,5' is no number in this file: it is left out.",)


# --- saved again by another program, without units -----------------------------------------------


def test_without_units_the_time_is_inferred_from_cycles_and_clock(tmp_path: Path) -> None:
    text = (
        ",ID,Process ID,Kernel Name,CC,gpu__time_duration.sum,sm__cycles_elapsed.max,"
        "sm__cycles_elapsed.avg.per_second,dram__bytes.sum,smsp__inst_executed.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed\n"
        '0,0,4711,"settle(float *, int)",9,0.004,4761,1.190092,3.5,2048,37.25\n'
    )
    profile = read_text(tmp_path, text)
    metrics = profile.launches[0].load().metrics
    assert costs(profile) == [("settle", 4_000)]
    assert metrics["sm__cycles_elapsed.avg.per_second"] == 1_190_092_000
    assert (metrics[INSTRUCTIONS], metrics[SHARE], metrics[BYTES]) == (2048, 37.25, None)
    assert profile.device and profile.device.compute_capability == (9, 0)
    assert profile.warnings == (
        "The row of units is lost: that of the time was inferred from cycles and clock (ms), and 1 column of unknown "
        "scale is left out.",
    )


def test_without_units_and_cycles_no_time_is_made_up(tmp_path: Path) -> None:
    text = 'ID,Kernel Name,gpu__time_duration.sum,smsp__inst_executed.sum\n0,"settle(float *)",41.28,77\n'
    profile = read_text(tmp_path, text)
    assert costs(profile) == [("settle", None)]
    assert profile.launches[0].load().metrics == {TIME: None, INSTRUCTIONS: 77}
    assert "that of the time cannot be told" in profile.warnings[0]

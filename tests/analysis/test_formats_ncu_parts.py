"""Parts of a report beside its metrics: rules, ranges, sections, opcodes; compressed reports."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from backports import zstd

from analysis.formats import read
from analysis.formats.ncu_rep import file, instances
from analysis.formats.ncu_rep.rules import plain
from analysis.types import Finding, LaunchDetail, Place
from optimas_web.errors import UserError
from tests.analysis.ncu_writer import CODE_AT, FOLDER, Metric, Report, block, default_metrics, number, varint

SAMPLE = Path(__file__).parents[2] / "samples" / "rowrank" / "rowrank.ncu-rep"


def loaded(tmp_path: Path, report: Report) -> LaunchDetail:
    path = tmp_path / "report.ncu-rep"
    path.write_bytes(report.write())
    return read(path).launches[0].load()


def double(field_number: int, value: float) -> bytes:
    return varint(field_number << 3 | 1) + struct.pack("<d", value)


# --- rules ----------------------------------------------------------------------------------------


def rule(*items: bytes, markers: bytes = b"") -> bytes:
    names = block(1, "UncoalescedGlobalAccess") + block(2, "Uncoalesced Global Accesses")
    return block(
        19, names + block(3, b"".join(block(1, item) for item in items)) + block(4, "SourceCounters") + markers
    )


def advice(text: str, percent: float, scope: int = 2) -> bytes:
    estimate = block(10, number(1, scope) + double(2, percent))
    return block(1, block(1, text) + number(2, 4) + number(3, 1)) + estimate


def test_a_rule_gives_its_words_its_estimate_and_the_lines_it_marks(tmp_path: Path) -> None:
    marked = block(5, number(1, 1) + number(2, 12) + block(4, "here") + block(6, f"{FOLDER}/./scale.cu"))
    by_address = block(5, number(1, 0) + number(3, CODE_AT))
    extras = rule(advice("This kernel has uncoalesced accesses.", 76.5), markers=marked + by_address)
    assert loaded(tmp_path, Report(extras=extras)).findings == (
        Finding(
            rule="UncoalescedGlobalAccess",
            kind="OPT",
            message="This kernel has uncoalesced accesses.",
            speedup=0.765,
            section="SourceCounters",
            scope="global",
            title="Uncoalesced Global Accesses",
            places=(Place("/opt/ada/code/scale.cu", 12),),
        ),
    )


def test_a_rule_that_found_nothing_is_no_finding(tmp_path: Path) -> None:
    assert loaded(tmp_path, Report(extras=rule())).findings == ()


@pytest.mark.parametrize("percent", [-1.0, 101.0, float("nan"), float("inf")])
def test_an_estimate_that_cannot_be_is_none(tmp_path: Path, percent: float) -> None:
    (found,) = loaded(tmp_path, Report(extras=rule(advice("Said.", percent, scope=1)))).findings
    assert (found.speedup, found.scope) == (None, "local")


def test_links_in_the_words_of_a_rule_lose_their_address() -> None:
    said = "See @section:SourceCounters:Source Counters@ and @url:the Guide:https://x.example/a#b@.\n"
    assert plain(f"{said} @source:a.cu:3:a.cu, line 4@") == "See Source Counters and the Guide. a.cu, line 4"
    assert plain("a\0b\x1b[31m") == "a\ufffdb\ufffd[31m"
    assert len(plain("@section:" * 100_000)) <= 2000


def test_a_damaged_rule_does_not_lose_the_launch(tmp_path: Path) -> None:
    detail = loaded(tmp_path, Report(extras=block(19, b"\x0a\xff") + rule(advice("Said.", 5))))
    assert [found.message for found in detail.findings] == ["Said."]
    assert detail.samples_total == 47
    assert len(detail.warnings) == 1 and "a rule's result" in detail.warnings[0]


def test_the_sample_has_the_findings_that_its_makers_saw() -> None:
    found = [each for launch in read(SAMPLE).launches for each in launch.load().findings]
    uncoalesced = [each for each in found if each.rule == "UncoalescedGlobalAccess"]
    assert [round(each.speedup or 0, 3) for each in uncoalesced] == [0.76, 0.764, 0.766]
    assert {place for each in uncoalesced for place in each.places} == {Place("/tmp/rr/rowrank.cu", 56)}


# --- ranges, sections, opcodes ------------------------------------------------------------------------


def test_ranges_sections_and_opcodes_are_kept(tmp_path: Path) -> None:
    domains = block(1, number(1, 0) + block(2, "<default domain>")) + block(1, number(1, 1) + block(2, "solver"))
    outer = block(2, number(1, 0) + block(3, block(1, "step")))
    inner = block(2, number(1, 1) + block(3, block(1, "sweep")))
    extras = block(17, block(1, "SpeedOfLight") + block(2, "GPU Speed Of Light"))
    extras += block(21, domains + block(2, number(1, 4242) + outer + inner))
    opcodes = Metric(5, {"LDG": 3, "EXIT": 2})
    detail = loaded(
        tmp_path, Report(extras=extras, launches=[default_metrics() | {"sass__inst_executed_per_opcode": opcodes}])
    )
    assert detail.nvtx == ("step", "solver: sweep")
    assert detail.sections == ("SpeedOfLight",)
    assert detail.opcodes == {"LDG": 3, "EXIT": 2}


# --- values at addresses -----------------------------------------------------------------------------


def metric(pairs: dict[int, float | int], category: bytes = b"", odd: bytes = b"") -> memoryview:
    written = number(1, 300) + block(2, number(5, 9))
    for at, value in pairs.items():
        said = number(5, value) if isinstance(value, int) else double(3, value)
        written += block(3, block(1, number(5, at)) + block(2, said))
    return memoryview(written + odd + category)


@pytest.mark.parametrize("category", [b"", number(4, 0), number(4, 1)])
def test_values_at_addresses_come_out_as_they_were_written(category: bytes) -> None:
    dice = random.Random(5)
    pairs: dict[int, float | int] = {dice.getrandbits(dice.randint(1, 64)): dice.getrandbits(n) for n in range(64)}
    reals: dict[int, float | int] = {n: dice.random() for n in range(50)} | {60: float("nan"), 61: 7}
    damaged: list[str] = []
    given = {"whole": metric(pairs, category), "real": metric(reals, category), "none": metric({})}
    found = instances.at_addresses(given, damaged)
    assert damaged == []
    assert dict(zip(found["whole"].addresses, found["whole"].values, strict=True)) == pairs
    assert dict(zip(found["real"].addresses, found["real"].values, strict=True)) == {
        at: value for at, value in reals.items() if value == value
    }
    assert found["none"].addresses == []


def test_unusual_writing_is_walked_and_damage_is_named() -> None:
    text_key = block(3, block(1, block(1, "LDG")) + block(2, number(5, 3)))
    swapped = block(3, block(2, number(5, 8)) + block(1, number(5, 99)))
    cut = block(3, block(1, number(5, 1)) + b"\x12\x09\x28")
    damaged: list[str] = []
    found = instances.at_addresses(
        {
            "good": metric({5: 6}),
            "odd": metric({7: 1}, odd=text_key + swapped),
            "bad": metric({7: 1}, odd=cut),
        },
        damaged,
    )
    assert found["good"].values == [6]
    assert dict(zip(found["odd"].addresses, found["odd"].values, strict=True)) == {7: 1, 99: 8}
    assert "bad" not in found and len(damaged) == 1 and damaged[0].startswith("metric bad: ")


def test_many_values_are_decoded_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "TOGETHER", 3)
    given = {f"m{n}": metric({n: n, n + 1: 2 * n}) for n in range(5)}
    found = instances.at_addresses(given, [])
    assert [(each.addresses, each.values) for each in found.values()] == [([n, n + 1], [n, 2 * n]) for n in range(5)]


# --- compressed ---------------------------------------------------------------------------------------


def compressed(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "report.ncu-repz"
    path.write_bytes(content)
    return path


def test_a_compressed_report_reads_like_the_report(tmp_path: Path) -> None:
    whole = SAMPLE.read_bytes()
    frames = zstd.compress(whole[:1_000_000]) + zstd.compress(whole[1_000_000:])
    found, plainly = read(compressed(tmp_path, frames)), read(SAMPLE)
    assert found == plainly
    assert found.launches[1].load() == plainly.launches[1].load()


def test_a_cut_compressed_report_gives_the_launches_before_the_cut(tmp_path: Path) -> None:
    dice = random.Random(3)
    noisy = [default_metrics() | {"noise": Metric(dice.randbytes(8000).hex())} for _ in range(60)]
    packed = zstd.compress(Report(launches=noisy).write())
    profile = read(compressed(tmp_path, packed[: len(packed) * 2 // 3]))
    assert 30 < len(profile.launches) < 45
    assert profile.warnings[0] == "Reading stopped early: its zstd stream is cut off."


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x28\xb5\x2f\xfd....", "its zstd stream is damaged"),
        (zstd.compress(b"NVR\0")[:-2], "its zstd stream is cut off"),
        (zstd.compress(b"a,b\n1,2\n"), "it does not begin with NVR"),
        (zstd.compress(b""), "the file is cut off"),
    ],
)
def test_what_is_no_report_inside_is_said(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(UserError) as failure:
        read(compressed(tmp_path, content))
    assert failure.value.message.startswith("report.ncu-repz is not a readable Nsight Compute report: ")
    assert why in failure.value.message


def test_a_bomb_is_stopped_and_the_way_round_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "MOST_UNPACKED", 4 * 2**20)
    with pytest.raises(UserError, match="unpacks to more than 4 MiB") as failure:
        read(compressed(tmp_path, zstd.compress(b"NVR\0" + bytes(2**26))))
    assert "zstd -d" in failure.value.hint

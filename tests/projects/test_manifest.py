"""optimas.toml is read strictly; whatever is wrong is told with line, table, key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_web.errors import UserError
from projects import manifest, snapshot
from projects.types import Manifest, WorkloadSpec

SAMPLES = Path(__file__).parents[2] / "samples"
MAIN = {"ponds.cu": b"__global__ void level() {}\nint main() { return 0; }\n"}
WHOLE = """\
[project]
name = "ponds"
toolchain = "cuda"

[build]
command = "make ARCH={arch} FLAGS='{flags}'"
binary = "bin/ponds"

[[workload]]
name = "default"
command = "./bin/ponds 8192 20"
outputs = ["out/*.bin", "./sums.txt"]
timeout_s = 2.5
bytes = 16_106_127_360
flops = 1.2e10

[[workload]]
name = "odd"
command = "./bin/ponds 509 7"

[profile]
command = "./bin/ponds 512 2"

[kernels]
include = ["levelWater"]

[output]
mask = ['time: [0-9.]+', "tab\\there"]
"""


def load(text: str, files: dict[str, bytes] | None = None) -> Manifest:
    return manifest.load({**(MAIN if files is None else files), "optimas.toml": text.encode()})


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        load(text)
    return str(caught.value)


def test_everything_declared_is_read_and_nothing_is_detected():
    assert load(WHOLE, files={}) == Manifest(
        name="ponds",
        toolchain="cuda",
        build_command="make ARCH={arch} FLAGS='{flags}'",
        binary="bin/ponds",
        workloads=(
            WorkloadSpec(
                "default", "./bin/ponds 8192 20", ("out/*.bin", "sums.txt"), 2.5, 16_106_127_360, 12_000_000_000
            ),
            WorkloadSpec("odd", "./bin/ponds 509 7"),
        ),
        profile_command="./bin/ponds 512 2",
        include_kernels=("levelWater",),
        masks=("time: [0-9.]+", "tab\there"),
        detected=(),
    )


@pytest.mark.parametrize("sample", ["heat2d", "rowrank"])
def test_the_samples_declare_everything(sample: str):
    loaded = manifest.load(snapshot.from_folder(SAMPLES / sample).files)
    assert loaded.name == sample
    assert loaded.detected == ()
    assert len(loaded.workloads) == 3
    assert loaded.profile_command not in [workload.command for workload in loaded.workloads]


def test_the_profile_command_defaults_to_the_first_workload():
    loaded = load('[[workload]]\nname = "small"\ncommand = "./ponds 7"\n')
    assert loaded.profile_command == "./ponds 7"
    assert "profile_command" in loaded.detected
    assert "workloads" not in loaded.detected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[build\n", "optimas.toml is not valid TOML: Expected ']' at the end of a table declaration (at line 1,"),
        ("x = 1\n", "optimas.toml line 1: 'x' is not known. The tables are [project], [build], [[workload]],"),
        ("[build]\n[tests]\n", "optimas.toml line 2: 'tests' is not known."),
        ("build = 1\n", "build must be a table. Write [build] on a line of its own."),
        (
            "[build]\n\ncomand = 'make'\n",
            "optimas.toml line 3: 'comand' in [build] is not known. The keys of [build] are command, binary.",
        ),
        ("[project]\nname = 7\n", "optimas.toml line 2: name in [project] must be text, not 7."),
        ("[project]\nname = ''\n", "line 2: name in [project] is empty."),
        (f"[project]\nname = '{'x' * 101}'\n", "line 2: name in [project] is longer than 100 characters."),
        ("[project]\ntoolchain = 'hip'\n", "line 2: toolchain in [project] is 'hip'. Toolchains are cuda and cpu."),
        ("[build]\ncommand = ['make']\n", "command in [build] must be text, not a list."),
        ('[build]\ncommand = "make\\u0000"\n', "line 2: command in [build] holds a line break or a control character."),
        ('[build]\ncommand = """make\nmake"""\n', "holds a line break"),
        ("[build]\nbinary = '/bin/sh'\n", "line 2: binary in [build] must stay inside the program's folder"),
        ("[build]\nbinary = '../a'\n", "leads out of its folder with '..'"),
        ("[workload]\nname = 'a'\n", "optimas.toml line 1: workloads are a list of tables. Write [[workload]]"),
        ("workload = []\n", "there are 0 workloads."),
        ("[[workload]]\nname = 'a'\n", "line 1: command in [[workload]] number 1 is missing. Add command ="),
        ("[[workload]]\ncommand = './a'\n", "line 1: name in [[workload]] number 1 is missing."),
        ("[[workload]]\nname = 'a b'\ncommand = './a'\n", "line 2: name in [[workload]] number 1 is 'a b'."),
        ("[profile]\ncommand = true\n", "must be text, not true or false."),
        ("[kernels]\ninclude = 'k'\n", "line 2: include in [kernels] must be a list of texts, not text."),
        ("[kernels]\ninclude = ['']\n", "include in [kernels] holds an empty text."),
        ("[kernels]\ninclude = [1]\n", "must be a list of texts"),
        ("[output]\nmask = ['(']\n", "line 2: mask in [output] holds '(', no regular expression: missing ), unterm"),
        ("[output]\nmask = ['.*']\n", "mask in [output] holds '.*', which fits even nothing."),
    ],
)
def test_what_is_wrong_is_told_with_place_and_remedy(text: str, sentence: str):
    assert sentence in refusal(text)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("timeout_s = '60'", "must be a number of seconds, not text. Write timeout_s = 60"),
        ("timeout_s = 0", "is 0. It must lie between 0.1 and 3600 seconds."),
        ("timeout_s = -1.0", "is -1."),
        ("timeout_s = inf", "is inf."),
        ("timeout_s = nan", "is nan."),
        ("timeout_s = true", "not true or false"),
        ("bytes = -1", "must be a whole number above 0, not -1."),
        ("bytes = 1.5", "must be a whole number above 0, not 1.5."),
        ("flops = inf", "must be a whole number above 0, not inf."),
        ("flops = 9223372036854775808", "must be a whole number above 0"),
        ("flops = 2020-01-01", "not a date or time."),
        ("outputs = 'out'", "must be a list of texts, not text."),
        ("outputs = ['/etc/passwd']", "'/etc/passwd' is absolute."),
        ("outputs = ['out/../../x']", "leads out of its folder with '..'."),
        ("outputs = ['C:/x']", "is absolute."),
        ("outputs = ['a\\b']", "holds a backslash."),
        ("output = ['x']", "The keys of [[workload]] number 2 are name, command, outputs,"),
        ("name = 'one'", "is 'one', as in one before."),
    ],
)
def test_a_wrong_workload_is_told_by_number_and_line(line: str, sentence: str):
    key = line.partition(" ")[0]
    rest = "command = './b'\n" if key == "name" else "name = 'two'\ncommand = './b'\n"
    told = refusal(f"[[workload]]\nname = 'one'\ncommand = './a'\n\n[[workload]]\n{rest}{line}\n")
    assert sentence in told
    assert f"optimas.toml line {5 + rest.count(chr(10)) + 1}: " in told
    assert "[[workload]] number 2" in told


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff\xfe[\0", "is not UTF-8, at byte 0"),
        (b"a = " + b"[" * 30_000, "nests values too deeply"),
        (b"a = " + b"9" * 5_000, "is not valid TOML"),
        (b"#" * 70_000, "is larger than 64 KiB"),
    ],
)
def test_hostile_files_are_refused_in_a_sentence(content: bytes, sentence: str):
    with pytest.raises(UserError, match=sentence):
        manifest.load({**MAIN, "optimas.toml": content})


def test_a_byte_order_mark_and_windows_line_ends_are_read():
    text = b"\xef\xbb\xbf[project]\r\nname = 'ponds'\r\n"
    assert manifest.load({**MAIN, "optimas.toml": text}).name == "ponds"


def test_too_many_workloads_are_refused():
    text = "".join(f"[[workload]]\nname = 'w{n}'\ncommand = './a'\n" for n in range(51))
    assert "there are 51 workloads. Declare 1 to 50" in refusal(text)


# --- writing it back ---------------------------------------------------------------------------

line = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=40).map(str.strip).filter(bool)
word = st.from_regex(r"[a-z0-9_][a-z0-9_.-]{0,20}", fullmatch=True)
inner_path = st.lists(st.from_regex(r"[a-z0-9*_-][a-z0-9*._-]{0,9}", fullmatch=True), min_size=1, max_size=3).map(
    "/".join
)
count = st.none() | st.integers(1, 2**63 - 1)
workload = st.builds(
    WorkloadSpec, word, line, st.lists(inner_path, max_size=3).map(tuple), st.floats(0.1, 3600), count, count
)
manifests = st.builds(
    Manifest,
    name=line,
    toolchain=st.sampled_from(["cuda", "cpu"]),
    build_command=line,
    binary=inner_path,
    workloads=st.lists(workload, min_size=1, max_size=4, unique_by=lambda w: w.name).map(tuple),
    profile_command=line,
    include_kernels=st.lists(line, max_size=3).map(tuple),
    masks=st.lists(st.sampled_from(["time: [0-9.]+", r"\d+ µs", "a\"'\\\\b", "x\ty"]), max_size=3).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(manifests)
def test_what_is_written_is_read_back_to_the_same(made: Manifest):
    assert load(manifest.dump(made), files={}) == made


def test_a_detected_manifest_becomes_a_declared_one():
    found = manifest.load(MAIN)
    again = load(manifest.dump(found))
    assert found.detected
    assert again.detected == ()
    assert (again.build_command, again.workloads) == (found.build_command, found.workloads)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused_in_a_sentence(content: bytes):
    try:
        manifest.load({**MAIN, "optimas.toml": content})
    except UserError as refused:
        assert "optimas.toml" in refused.message


toml_value = st.recursive(
    st.integers() | st.floats() | st.booleans() | st.sampled_from(["''", '"a"', "2020-01-01", "[]", "{}", "../x"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(manifest.KEYS)), st.integers(0, 5), toml_value), max_size=4))
def test_any_values_under_known_keys_are_read_or_refused_in_a_sentence(entries):
    blocks = []
    for table, index, value in entries:
        key = manifest.KEYS[table][index % len(manifest.KEYS[table])]
        header = f"[[{table}]]" if table == "workload" else f"[{table}]"
        blocks.append(f"{header}\n{key} = {str(value).lower()}\n")
    try:
        load("".join(blocks))
    except UserError as refused:
        assert "optimas.toml" in refused.message

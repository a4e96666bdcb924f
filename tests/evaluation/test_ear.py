"""EAR: coverage, location and direction, each with its chance level checked by brute force."""

from itertools import combinations

import pytest

from analysis.types import Evidence
from evaluation.ear import Reasoning, changed_lines, coverage, direction, hunks, location, scores
from evaluation.types import Measured
from optimizer.types import Edit, Expectation, NotApplied, Region

SOURCE = "\n".join(f"line{n};" for n in range(1, 41)) + "\n"
FILE = "a.cpp"


def item(label, weight=0.25, lines=None, direction="down", noise=0.01, file=FILE):
    return Evidence(
        label, "stalls", "k", "", "m", 1.0, "count", noise, direction, weight, file if lines else None, lines
    )


def edit(first, last, new=None, cites=(), expect=()):
    old = "\n".join(f"line{n};" for n in range(first, last + 1))
    new_text = "\n".join(f"new{n};" for n in range(first, last + 1)) if new is None else new
    return Edit(FILE, first, last, old, new_text, tuple(cites), expect=tuple(expect))


def case(offered=(), edits=(), measured=(), region=(11, 30), rejected=()):
    return Reasoning(
        offered=tuple(offered),
        edits=tuple(edits),
        not_applied=tuple(rejected),
        regions=(Region(FILE, *region, "k"),),
        before={FILE: SOURCE},
        measured={m.label: m for m in measured},
    )


# --- hunks


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (edit(5, 6), {5, 6}),
        (edit(5, 7, "line5;\nnew;\nline7;"), {6}),  # padding that stays the same is not a change
        (edit(5, 7, "line5;\nline7;"), {6}),
        (edit(5, 4, "new;"), {4}),  # an insertion counts as the line it stands behind
        (edit(1, 0, "new;"), {1}),
        (edit(5, 6, "line5;\nnew;\nline6;"), {5}),
        (edit(5, 6, "line6;\nline5;"), {5, 6}),  # a swap stays where it is
        (edit(5, 6, "  line5;\n\tline6;"), set()),  # white space is not code
        (edit(5, 6, "line5; // faster\n/* so\n is this */ line6;"), set()),  # nor are comments
        (edit(5, 5, 'print("// text");'), {5}),
        (edit(5, 6, "line5;\nline6;\n"), set()),
    ],
)
def test_a_hunk_holds_the_lines_whose_code_changes(change, lines):
    assert changed_lines(change, {FILE: SOURCE}) == lines
    assert [hunk.lines for hunk in hunks(case(edits=[change]))] == ([lines] if lines else [])


# --- coverage


@pytest.mark.parametrize(
    ("edits", "value", "precision", "grounded"),
    [
        ([edit(12, 12, cites=["S1"])], 0.5, 1.0, 1.0),
        ([edit(12, 12, cites=["S1", "S2"]), edit(14, 14, cites=["S1"])], 0.8, 1.0, 1.0),
        ([edit(12, 12, cites=["S1", "S9"]), edit(14, 14, cites=["S9"])], 0.5, 1 / 3, 0.5),
        ([edit(12, 12, "line12; // S1", cites=["S1"])], 0.0, None, None),  # a comment acts on nothing
        ([edit(12, 12)], 0.0, None, 0.0),
        ([], 0.0, None, None),
    ],
)
def test_coverage_is_the_weight_of_what_was_acted_on(edits, value, precision, grounded):
    found = coverage.score(case([item("S1", 0.5), item("S2", 0.3), item("H1", 0.2)], edits))
    assert found.value == pytest.approx(value)
    assert found.denominator == pytest.approx(1.0)
    assert found.parts["citation_precision"] == (None if precision is None else pytest.approx(precision))
    assert found.parts["grounded_hunks"] == grounded


def test_chance_of_coverage_is_the_mean_over_all_sets_of_as_many_labels():
    weights = {"S1": 0.4, "S2": 0.1, "S3": 0.3, "R1": 0.2}
    found = coverage.score(case([item(k, w) for k, w in weights.items()], [edit(12, 12, cites=["S1", "R1"])]))
    sets = list(combinations(weights, 2))
    assert found.chance == pytest.approx(sum(sum(weights[label] for label in chosen) for chosen in sets) / len(sets))


def test_evidence_turned_down_with_a_reason_is_discussed_but_not_acted_on():
    rejected = [NotApplied(("S2",), "the loop is not bound by it"), NotApplied(("H1",), " ")]
    offered = [item("S1", 0.5), item("S2", 0.3), item("H1", 0.2)]
    found = coverage.score(case(offered, [edit(12, 12, cites=["S1"])], rejected=rejected))
    assert found.value == pytest.approx(0.5)
    assert found.parts["discussed"] == pytest.approx(0.8)
    assert found.parts["left_out"] == [{"label": "H1", "weight": 0.2}]


def test_nothing_offered_is_not_zero_coverage():
    found = coverage.score(case([], [edit(12, 12, cites=["S1"])]))
    assert (found.value, found.chance) == (None, None)


# --- location


def chance_by_hand(lines, evidence, region):
    """Every place in the region where the pattern fits, written out without the code under test."""
    first, last = region
    pattern = [line - min(lines) for line in lines]
    near = {line for a, b in evidence for line in range(a - 3, b + 4)}
    places = [start for start in range(first, last + 1) if start + max(pattern) <= last]
    hits = [sum(start + offset in near for offset in pattern) for start in places]
    return sum(hits) / len(hits) / len(lines)


@pytest.mark.parametrize(
    ("lines", "evidence", "hits"),
    [
        ((20, 20), [(20, 20)], 1),
        ((23, 23), [(20, 20)], 1),
        ((24, 24), [(20, 20)], 0),
        ((17, 24), [(20, 20)], 7),
        ((11, 30), [(20, 20)], 7),  # a rewrite of the whole function says nothing
        ((12, 13), [(11, 30)], 2),  # nor does evidence on every line
        ((12, 13), [(12, 12), (28, 28)], 2),
    ],
)
def test_location_with_its_chance_level_by_brute_force(lines, evidence, hits):
    offered = [item(f"S{n}", lines=span) for n, span in enumerate(evidence)]
    found = location.score(case(offered, [edit(*lines, cites=[e.label for e in offered])]))
    changed = set(range(lines[0], lines[1] + 1))
    assert (found.numerator, found.denominator) == (hits, len(changed))
    assert found.chance == pytest.approx(chance_by_hand(changed, evidence, (11, 30)))
    assert found.parts["lift"] == pytest.approx(found.value / found.chance)


@pytest.mark.parametrize("lines", [(11, 30), (12, 13)])
def test_what_cannot_miss_has_no_lift(lines):
    offered = [item("S1", lines=(11, 30) if lines == (12, 13) else (20, 20))]
    assert location.score(case(offered, [edit(*lines, cites=["S1"])])).parts["lift"] == pytest.approx(1.0)


def test_a_pattern_with_gaps_is_moved_as_it_is():
    swap = Edit(FILE, 15, 20, "", "new;\nline16;\nline17;\nline18;\nline19;\nnew;", ("S1",))
    found = location.score(case([item("S1", lines=(20, 20))], [swap]))
    assert found.value == 0.5
    assert found.chance == pytest.approx(chance_by_hand({15, 20}, [(20, 20)], (11, 30)))


def test_hunks_that_cite_no_lines_are_counted_apart():
    offered = [item("S1", lines=(20, 20)), item("R1")]
    found = location.score(case(offered, [edit(20, 20, cites=["S1"]), edit(29, 29, cites=["R1"])]))
    assert (found.numerator, found.denominator) == (1, 1)
    assert found.parts["hunks_citing_no_lines"] == 1
    assert location.score(case(offered, [edit(29, 29, cites=["R1"])])).value is None


def test_evidence_in_another_file_is_not_near():
    found = location.score(case([item("S1", lines=(20, 20), file="b.cpp")], [edit(20, 20, cites=["S1"])]))
    assert found.value == 0.0


def test_outside_every_known_function_chance_is_not_known():
    found = location.score(case([item("S1", lines=(5, 5))], [edit(5, 5, cites=["S1"])]))
    assert (found.value, found.chance, found.parts["lift"]) == (1.0, None, None)


# --- direction


@pytest.mark.parametrize(
    ("before", "after", "noise", "way", "right"),
    [
        (100.0, 50.0, 0.0, "down", 1),
        (100.0, 50.0, 0.0, "up", 0),
        (100.0, 99.5, 0.0, "down", 0),  # within the evidence's own floor of 1 %
        (100.0, 90.0, 0.2, "down", 0),  # within the spread of the repeats
        (0.0, 5.0, 0.0, "down", 0),
        (0.0, 5.0, 0.0, "up", 1),
        (0.0, 0.0, 0.0, "down", 0),
    ],
)
def test_direction_counts_moves_beyond_noise(before, after, noise, way, right):
    offered = [item("S1", direction=way)]
    found = direction.score(case(offered, [edit(12, 12, cites=["S1"])], [Measured("S1", before, after, noise)]))
    assert (found.numerator, found.denominator) == (right, 1)


def test_what_was_not_measured_again_is_neither_right_nor_wrong():
    offered = [item("S1"), item("S2"), item("S3")]
    measured = [Measured("S1", 10.0, 5.0, 0.0), Measured("S2", 10.0, None, 0.0)]
    found = direction.score(case(offered, [edit(12, 12, cites=["S1", "S2", "S3"])], measured))
    assert (found.value, found.numerator, found.denominator) == (1.0, 1.0, 1.0)
    assert found.parts["not_measured"] == ["S2", "S3"]
    assert direction.score(case(offered, [edit(12, 12, cites=["S3"])], measured)).value is None


def test_chance_of_direction_is_the_mean_over_all_choices_of_as_many_labels():
    after = {"S1": 5.0, "S2": 20.0, "S3": 4.0, "S4": 10.0}
    offered = [item(label) for label in after]
    measured = [Measured(label, 10.0, value, 0.0) for label, value in after.items()]
    found = direction.score(case(offered, [edit(12, 12, cites=["S1", "S3"])], measured))
    sets = list(combinations(after, 2))
    assert found.chance == pytest.approx(sum(sum(after[s] < 10 for s in chosen) / 2 for chosen in sets) / len(sets))
    assert found.value == 1.0


@pytest.mark.parametrize(
    ("way", "by", "after", "outcome"),
    [
        ("down", 40, 50.0, "kept"),
        ("down", 50.5, 50.0, "kept"),  # short by less than noise
        ("down", 60, 50.0, "missed"),
        ("down", None, 50.0, "kept"),
        ("down", 1, 99.5, "missed"),
        ("up", 40, 50.0, "reversed"),
        ("down", 40, None, "not_measured"),
    ],
)
def test_promises_are_held_against_what_was_measured(way, by, after, outcome):
    promise = Expectation("S1", way, by)
    found = direction.score(
        case([item("S1")], [edit(12, 12, cites=["S1"], expect=[promise])], [Measured("S1", 100.0, after, 0.0)])
    )
    assert [row["outcome"] for row in found.parts["promises"]] == [outcome]


def test_a_promise_about_unknown_evidence_is_not_measured():
    found = direction.score(case([item("S1")], [edit(12, 12, cites=["S1"], expect=[Expectation("S9", "down", 5)])]))
    assert found.parts["promises"][0]["outcome"] == "not_measured"


def test_all_three_scores_come_in_the_order_of_the_registry():
    assert [score.name for score in scores(case([item("S1")]))] == ["coverage", "location", "direction"]

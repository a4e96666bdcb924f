"""Callgrind by source function."""

from profile_builder import counted, cpu, function

from analysis.attribute import by_source
from analysis.places import files_used, resolve
from analysis.types import Profile

TEXT = """struct Plate {
    double at(int i) const { return cells[i]; }
    double at(int i) { return cells[i]; }
};

void spread(Plate& p) {
    for (int i = 0; i < 9; ++i)
        p.at(i);
}

int main() {
    Plate p;
    spread(p);
}
"""


def attributed(profile: Profile, **given: str) -> Profile:
    used = files_used(code for launch in profile.launches for code in launch.load().code)
    return by_source(profile, resolve(given or {"heat.cpp": TEXT}, {}, used))


def costs(profile: Profile) -> dict[str, float | None]:
    return {launch.mangled: launch.cost for launch in profile.launches}


def test_a_function_inlined_into_main_is_found_as_itself():
    main = function("main", counted("main", "/b/heat.cpp:12", Ir=5), counted("main", "/b/heat.cpp:8", Ir=90, D1mr=1))
    assert costs(attributed(cpu(main))) == {"main": 5, "spread": 100}


def test_names_are_those_of_the_machine_function_where_there_is_one():
    spread = function("spread(Plate&)", counted("spread(Plate&)", "/b/heat.cpp:7", Ir=10))
    (launch,) = attributed(cpu(spread)).launches
    assert (launch.mangled, launch.short_name, launch.file) == ("spread(Plate&)", "spread", "heat.cpp")


def test_a_line_of_a_foreign_header_stays_with_its_function():
    vector = counted("spread(Plate&)", "/usr/include/c++/12/bits/stl_vector.h:1126", Ir=30)
    spread = function("spread(Plate&)", counted("spread(Plate&)", "/b/heat.cpp:7", Ir=10), vector)
    profile = attributed(cpu(spread))
    assert costs(profile) == {"spread(Plate&)": 40}
    assert vector in profile.launches[0].load().code


def test_two_overloads_that_exist_only_inlined_stay_two():
    spread = function(
        "spread(Plate&)",
        counted("spread(Plate&)", "/b/heat.cpp:2", Ir=3),
        counted("spread(Plate&)", "/b/heat.cpp:3", Ir=4),
        counted("spread(Plate&)", "/b/heat.cpp:7", Ir=5),
    )
    found = costs(attributed(cpu(spread)))
    assert sorted(filter(None, found.values())) == [3, 4, 5]
    assert len(found) == 3


def test_no_cost_is_lost_and_library_functions_stay_as_they_are():
    profile = cpu(
        function("memcpy", counted("memcpy", None, Ir=7)),
        function("main", counted("main", "/b/heat.cpp:12", Ir=5), counted("main", "/b/heat.cpp:8", Ir=90)),
        function("memset", counted("memset", "./sysdeps/memset.S:4", Ir=2)),
    )
    found = attributed(profile)
    assert sum(launch.cost or 0 for launch in found.launches) == 104
    assert {"memcpy", "memset"} < set(costs(found))
    assert [launch.index for launch in found.launches] == list(range(len(found.launches)))


def test_without_sources_functions_are_the_tools():
    main = function("main", counted("main", "/b/other.cpp:12", Ir=5))
    assert costs(attributed(cpu(main))) == {"main": 5}

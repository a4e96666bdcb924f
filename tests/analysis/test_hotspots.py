"""Which kernels matter."""

import pytest
from profile_builder import gpu, launch

from analysis.hotspots import hot, named, rank
from analysis.pipeline import analyse


def test_launches_are_grouped_by_mangled_name_and_never_by_short_name():
    profile = gpu(
        launch("step(float)", 60, mangled="_Z4stepf"),
        launch("step(double)", 30, mangled="_Z4stepd"),
        launch("step(float)", 10, mangled="_Z4stepf"),
    )
    kernels = rank(profile)
    assert [(k.mangled, k.launch_count, k.total_cost, k.median_cost, k.share, k.rank) for k in kernels] == [
        ("_Z4stepf", 2, 70, 35, 0.7, 1),
        ("_Z4stepd", 1, 30, 30, 0.3, 2),
    ]
    assert kernels[0].launches == (0, 2)


@pytest.mark.parametrize(
    ("costs", "hot"),
    [
        ([50, 30, 20], ["k0", "k1"]),  # exactly 80 %
        ([79, 11, 10], ["k0", "k1"]),
        ([10, 90], ["k1"]),
        ([1] * 10, [f"k{n}" for n in range(8)]),
        ([5], ["k0"]),
        ([0, 0], []),
        ([None, None], []),
    ],
)
def test_hot_is_the_smallest_set_that_holds_four_fifths(costs: list[float | None], hot: list[str]):
    kernels = rank(gpu(*(launch(f"k{n}", cost) for n, cost in enumerate(costs))))
    assert [kernel.name for kernel in kernels if kernel.hot] == hot


def test_a_launch_without_a_cost_is_a_launch_and_not_a_zero():
    slow, lost = rank(gpu(launch("slow", 8), launch("slow", None), launch("slow", 4), launch("lost", None)))
    assert (slow.launch_count, slow.total_cost, slow.median_cost, slow.share) == (3, 12, 6, 1)
    assert (lost.launch_count, lost.total_cost, lost.median_cost, lost.share, lost.rank) == (1, None, None, None, 2)


def test_equal_costs_keep_the_order_of_their_first_launch():
    kernels = rank(gpu(launch("b", 1), launch("a", 1), launch("c", 1)))
    assert [kernel.name for kernel in kernels] == ["b", "a", "c"]


def test_only_kernels_that_may_be_hot_are_and_the_threshold_is_of_their_cost():
    kernels = rank(gpu(launch("libc", 90), launch("mine", 9), launch("also", 1)), among={"mine", "also"})
    assert [(kernel.name, kernel.hot) for kernel in kernels] == [("libc", False), ("mine", True), ("also", False)]
    assert kernels[1].share == 0.09


def test_a_kernel_is_found_by_any_name_that_is_its_alone():
    kernels = rank(gpu(launch("f(int)", 1, mangled="_Z1fi"), launch("f(char)", 1, mangled="_Z1fc"), launch("g()", 1)))
    assert named(kernels, "_Z1fc") is named(kernels, "f(char)") is not None
    assert named(kernels, "g") is not None
    assert named(kernels, "f") is None
    assert named(kernels, "h") is None


def test_where_no_cost_is_known_any_kernel_may_be_hot():
    untimed = analyse(gpu(launch("a", None), launch("b", None)), {}).kernels
    assert [each.kernel.name for each in hot(untimed)] == ["a", "b"]
    timed = analyse(gpu(launch("a", 9), launch("b", None)), {}).kernels
    assert [each.kernel.name for each in hot(timed)] == ["a"]

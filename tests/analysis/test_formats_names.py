"""Function names from every tool read the same."""

from __future__ import annotations

import pytest

from analysis.names import demangle, short_name, spoken, tidy, without_arguments


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z11fill_scoresPfPiiij", "fill_scores(float*, int*, int, int, unsigned int)"),
        ("_Z4tileILi64ELb1EEvPKfPf", "void tile<64, true>(float const*, float*)"),
        ("_ZN12_GLOBAL__N_16kernelEv", "(anonymous namespace)::kernel()"),
        ("_Z1fSt6vectorIdSaIdEE", "f(std::vector<double, std::allocator<double>>)"),
        ("main", "main"),
        ("", ""),
        ("_ZZ4mainENKUlvE_clEv", "_ZZ4mainENKUlvE_clEv"),
        ("_Z999999999f", "_Z999999999f"),
        ("_ZN", "_ZN"),
        ("_Z1f" + "P" * 50_000 + "i", "_Z1f" + "P" * 50_000 + "i"),
        ("_Z1f" + "P" * 10_000 + "i", "_Z1f" + "P" * 10_000 + "i"),
    ],
)
def test_names_are_demangled_or_left_alone(mangled: str, name: str) -> None:
    assert demangle(mangled) == name


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("void tile<(int)64, (bool)0>(float *, const int &)", "void tile<64, false>(float*, const int&)"),
        ("f<A<B<int> > >(int)", "f<A<B<int>>>(int)"),
        ("f( int )", "f( int )"),
        ("void f<(unsigned int)3, (long)-2>(int  *)", "void f<3, -2>(int*)"),
        ("f<(MyEnum)1>(int)", "f<(MyEnum)1>(int)"),
    ],
)
def test_spellings_of_different_tools_become_one(name: str, same: str) -> None:
    assert tidy(name) == same
    assert tidy(same) == same


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("rank_rows(const float*, const int*, int*, int, int)", "rank_rows"),
        ("void ns::kernel<float, 16>(int)", "kernel"),
        ("unsigned int ns::(anonymous namespace)::f(int)", "f"),
        ("void cub::Kernel<cub::Policy<int>::Max, (anonymous namespace)::Op>(int)", "Kernel"),
        ("void f<g(int)>(int (*)(int))", "f"),
        ("ns::operator+(ns::A const&, ns::A const&)", "ns::operator+"),
        ("Plate::operator[](int) const", "Plate::operator[]"),
        ("bool ns::operator< <int>(A<int> const&)", "ns::operator<"),
        ("Functor<int>::operator()(int) const", "Functor::operator()"),
        ("main::{lambda(int)#1}::operator()(int) const", "{lambda(int)#1}::operator()"),
        ("Plate::~Plate()", "~Plate"),
        ("foo [clone .isra.0]", "foo"),
        ("foo(int) [clone .cold]", "foo"),
        ("(below main)", "(below main)"),
        ("0x000000000001ab70", "0x000000000001ab70"),
        ("set_halo_values_x_396_gpu", "set_halo_values_x_396_gpu"),
        ("", ""),
    ],
)
def test_the_short_name_is_what_the_source_calls_it(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    ("symbol", "said"),
    [("_Z9rank_rowsPKfPKiPiii", "rank_rows"), ("program", "program"), ("selected", "selected"), ("axpy", "axpy")],
)
def test_scopes_are_called_what_people_call_them(symbol: str, said: str) -> None:
    assert spoken(symbol) == said


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("void gather<Scatter<int>, true>(const float*)", "void gather"),
        ("ns::Functor<int>::operator()(int) const", "ns::Functor::operator()"),
        ("main", "main"),
        ("", ""),
    ],
)
def test_a_name_without_its_arguments(name: str, bare: str) -> None:
    assert without_arguments(name) == bare

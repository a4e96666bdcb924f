"""Function names: demangled, tidied and shortened, so that the same function reads the same from every tool."""

from __future__ import annotations

import re

import itanium_demangler

LONGEST_MANGLED = 16_384
# What the demangler raises at names it does not know (local names, lambdas) or that are damaged.
_DEMANGLER_ERRORS = (
    NotImplementedError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    RecursionError,
)
_OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?)")
_HIDDEN = {ord(char): 0xE000 + ord(char) for char in "()<>:"}
_SHOWN = {hidden: char for char, hidden in _HIDDEN.items()}


def demangle(mangled: str) -> str:
    """The C++ name of an Itanium-mangled symbol; any other name, and what cannot be demangled, comes back as it is."""
    if not mangled.startswith("_Z") or len(mangled) > LONGEST_MANGLED:
        return mangled
    try:
        node = itanium_demangler.parse(mangled)
    except _DEMANGLER_ERRORS:
        return mangled
    return tidy(str(node)) if node is not None else mangled


def tidy(name: str) -> str:
    """One spelling for what tools spell differently: ``(int)16`` is ``16``, ``(bool)1`` is ``true``, ``float *`` is
    ``float*``, ``A<B<C> >`` is ``A<B<C>>``."""
    name = name.replace("_GLOBAL__N_1", "(anonymous namespace)")
    name = re.sub(r"\(bool\)([01])\b", lambda found: "true" if found[1] == "1" else "false", name)
    name = re.sub(r"\((?:unsigned |signed )?(?:char|short|int|long|long long)\)(-?\d+)", r"\1", name)
    name = re.sub(r"\s+", " ", name)
    name = re.sub(r" (?=[*&>])", "", name)
    return name.strip()


def spoken(symbol: str) -> str:
    """What people call a symbol: the bare name of a mangled one, anything else as it is."""
    return short_name(demangle(symbol)) if symbol.startswith("_Z") else symbol


def short_name(name: str) -> str:
    """The bare function name: ``void ns::kernel<float>(int)`` is ``kernel``. Operators keep their class."""
    parts = _without_arguments(name).split("::")
    last = parts[-1]
    if last.startswith("operator"):
        kept = [_last_word(parts[-2])] if len(parts) > 1 else []
        short = "::".join([*kept, last])
    else:
        short = _last_word(last)
    return short.translate(_SHOWN) or name


def without_arguments(name: str) -> str:
    """``void ns::kernel<float>(int)`` is ``void ns::kernel``."""
    return _without_arguments(name).translate(_SHOWN) or name


def _without_arguments(name: str) -> str:
    """Brackets and colons that belong to the name itself are hidden."""
    bare = name.replace("(anonymous namespace)", "(anonymous)").replace("(anonymous)::", "")
    bare = _OPERATOR.sub(lambda found: "operator" + found[1].translate(_HIDDEN), bare)
    bare = _without_template_arguments(bare)
    bare = re.sub(r"\{[^{}]*\}", lambda found: found[0].translate(_HIDDEN), bare)
    return bare.partition("(")[0].partition(" [")[0].strip()


def _last_word(text: str) -> str:
    """Without the return type; a name in braces may hold blanks."""
    return text if text.startswith("{") else text.rpartition(" ")[2]


def _without_template_arguments(name: str) -> str:
    while True:
        shorter = re.sub(r"<[^<>]*>", "", name)
        if shorter == name:
            return name
        name = shorter

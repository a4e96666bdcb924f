"""Arithmetic keeps its width: no narrower type, no fast or approximate function.

Each function is compared with itself. Floating-point width is counted, in types, literals and the names of functions,
since what takes the place of a `double` may have another name; a whole number is compared by its variable.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.source import Function, Variable, variables
from analysis.tokens import Token, code
from optimizer.reach import bound, free, leading
from optimizer.structure import changed_files, matched, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "precision"
DEFAULT: Severity = "block"
WORDS = (
    "Keep the width of all arithmetic: no type narrower than the code has now (no float for double, no half, no short "
    "or int for a longer integer), and no fast or approximate function (__expf, __fdividef, rsqrtf)."
)

_FAST = re.compile(
    r"__(?:fdividef|frcp_r[zud]|f(?:add|sub|mul|div|ma|maf|sqrt)_r[zud]|d(?:add|sub|mul|div|rcp|sqrt)_r[zud]|fma_r[zud]"
    r"|(?:exp|exp10|log|log2|log10|pow|sin|cos|tan|sincos|tanh|saturate)f|u?mul24)$"
    r"|r?(?:sqrt|cbrt|hypot)_?approx\w*$|rsqrtf?$|__frsqrt_r\w$|__nv_fast_\w+$|native_\w+$"
)
_HALF = re.compile(
    r"(?:__)?half2?(?:_raw)?$|(?:__)?(?:nv_)?bfloat16[2]?$|__nv_fp\w+$|_Float16$|__fp16$|__bf16$|b?float16_t$|tf32$"
    r"|__(?:float|double)2?2(?:half|bfloat16)\w*$|__float22(?:half|bfloat16)\w*$"
)
_DOUBLE = re.compile(r"double[1-4]?$|float64_t$|float64x\d_t$")
_FLOAT = re.compile(
    r"float[1-4]?$|float32_t$|float32x\d_t$|__double2float_r\w$"
    r"|(?:sqrt|cbrt|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|fabs|fma"
    r"|fmin|fmax|fmod|floor|ceil|round|trunc|rint|hypot|erf|erfc|copysign)f$"
)
_DECIMAL = re.compile(r"(?:0[xX][\da-fA-F.']+[pP]|\d[\d']*[eE]|\d[\d']*\.|\.\d)[^a-zA-Z]*([fFlL]?)|\d+([fF])$")
_LONG = re.compile(r"long$|u?int(?:_fast|_least)?64_t$|s?size_t$|ptrdiff_t$|u?intptr_t$|u?intmax_t$|u?longlong[1-4]$")
_SHORT = re.compile(r"short$|u?short[1-4]$|u?int(?:_fast|_least)?16_t$")
_BYTE = re.compile(r"char$|u?char[1-4]?$|u?int(?:_fast|_least)?8_t$")
_INT = re.compile(r"int$|u?int[1-4]?$|unsigned$|signed$|u?int(?:_fast|_least)?32_t$")
_ALIAS = re.compile(
    r"typedef (?P<type>[\w ]+) (?P<name>\w+) ;|using (?P<using>\w+) = (?P<of>[\w: ]+) ;"
    r"|^#define (?P<macro>\w+) (?P<text>[a-zA-Z_][\w ]*)$",
    re.MULTILINE,
)
_NAMES = {64: "double", 32: "float", 16: "a type of 16 bits or less"}


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    names, fast = _own_names(before.values()), leading(before.values(), _fast_at)
    return [
        each for file in changed_files(before, after) for each in _file(file, before[file], after[file], names, fast)
    ]


def _file(file: str, before: str, after: str, names: Mapping[str, int], fast: Mapping[str, str]) -> Iterator[Violation]:
    for old, new in ((pair.before, pair.after) for pair in matched(before, after)):
        if old is None or new is None or before[old.start : old.end] == after[new.start : new.end]:
            continue
        one, two = _part(before, old), _part(after, new)
        found = (
            *_fast(one, two, fast, bound(after)),
            *_floats(one, two, names),
            *_integers(one, two),
            *_variables(before, old, after, new),
        )
        for what, token_line, remedy in found:
            line = original_line(before, after, token_line) if token_line else old.first_line
            message = f"{old.qualified} {what} (line {line} of {file}): {remedy}."
            yield Violation(RULE, DEFAULT, file, line, message)


def _own_names(texts: Iterable[str]) -> Mapping[str, int]:
    """Types and macros of the program that stand for a floating-point type -> its width in bits."""
    written = [found for text in texts for found in _ALIAS.finditer(_by_line(text))]
    found: dict[str, int] = {}
    for _ in range(3):  # one may stand for another
        for each in written:
            name = each["name"] or each["using"] or each["macro"]
            widths = {_width(token, found) for token in code(each["type"] or each["of"] or each["text"])} - {0}
            found |= {name: min(widths)} if widths else {}
    return found


def _by_line(text: str) -> str:
    """The code with directives on lines of their own and the rest on as few as can be."""
    return " ".join(f"\n{token.text}\n" if token.kind == "directive" else token.text for token in code(text)).replace(
        "\n ", "\n"
    )


Finding = tuple[str, int, str]
"""What the function does now, the line of the new text or 0, and the remedy."""


def _part(text: str, function: Function) -> list[Token]:
    return [token for token in code(text) if function.start <= token.start < function.end]


def _fast(
    before: Sequence[Token], after: Sequence[Token], paths: Mapping[str, str], known: frozenset[int]
) -> Iterator[Finding]:
    left = Counter(token.text for token in before)
    for position, token in enumerate(after):
        left[token.text] -= 1
        what = _fast_at(after, position, known) or (free(after, position, known) and paths.get(token.text))
        if left[token.text] < 0 and what:
            through = f", and so {what}" if what != token.text else ""
            remedy = "it rounds in another way; use the function that was there"
            yield f"now uses {token.text}{through}", token.line, remedy
            return


def _fast_at(found: Sequence[Token], position: int, known: frozenset[int]) -> str:
    return found[position].text if _FAST.match(found[position].text) else ""


def _floats(before: Sequence[Token], after: Sequence[Token], names: Mapping[str, int]) -> Iterator[Finding]:
    """A width that is new and narrower than all that was, or that takes over from a wider one."""
    old, new = [[(token, _width(token, names)) for token in part] for part in (before, after)]
    had, has = (Counter(width for _, width in part if width) for part in (old, new))
    for width in (16, 32):
        wider = [each for each in (32, 64) if each > width and had[each]]
        taken = any(has[each] < had[each] for each in wider) and has[width] > had[width]
        if wider and (taken or (has[width] and min(had) > width)):
            token = _first_new(old, new, width)
            yield (
                f"now computes with {_NAMES[width]} (`{token.text}`) where it had a wider type",
                token.line,
                f"keep {' or '.join(_NAMES[each] for each in wider)}",
            )
            return


def _width(token: Token, names: Mapping[str, int]) -> int:
    """The floating-point width in bits that a token speaks of, or 0. ``names``: widths behind names of the program."""
    if token.kind == "number":
        found = _DECIMAL.match(token.text)
        return 0 if not found else 32 if (found.group(1) or found.group(2) or "").lower() == "f" else 64
    if token.kind != "name" or token.text in names:
        return names.get(token.text, 0)
    return 16 if _HALF.match(token.text) else 32 if _FLOAT.match(token.text) else 64 if _DOUBLE.match(token.text) else 0


def _first_new(old: Sequence[tuple[Token, int]], new: Sequence[tuple[Token, int]], width: int) -> Token:
    left = Counter(token.text for token, each in old if each == width)
    for token, each in new:
        left[token.text] -= each == width
        if each == width and left[token.text] < 0:
            return token
    return next(token for token, each in new if each == width)


def _integers(before: Sequence[Token], after: Sequence[Token]) -> Iterator[Finding]:
    """Types of 64 bits that are all gone, and types of 16 bits or less where there were none."""
    old, new = _long(before), _long(after)
    ints = [sum(bool(_INT.match(token.text)) for token in part) for part in (before, after)]
    if old and not new and (ints[1] > ints[0] or any(_cast(before, token) for token in old)):
        yield f"no longer uses {old[0].text}", 0, "keep the wider integer, or larger inputs overflow"
    for narrow in (_BYTE, _SHORT):
        if any(narrow.match(token.text) for token in before):
            return
        for position, token in enumerate(after):
            if narrow.match(token.text) and _holds_a_number(after, position):
                yield f"now stores whole numbers in `{token.text}`", token.line, "keep the wider integer"
                return


def _long(found: Sequence[Token]) -> list[Token]:
    return [token for token in found if _LONG.match(token.text)]


def _cast(found: Sequence[Token], token: Token) -> bool:
    """Whether the type stands in brackets of its own: ``(long long)x``, ``static_cast<size_t>(x)``."""
    at = found.index(token)
    ends = [each.text for each in (*found[max(0, at - 2) : at], *found[at + 1 : at + 3])]
    return (")" in ends and "(" in ends) or (">" in ends and "<" in ends)


def _holds_a_number(found: Sequence[Token], position: int) -> bool:
    """Not so: pointers to bytes, and raw shared memory."""
    after = [token.text for token in found[position + 1 : position + 3]]
    shared = any(token.text == "__shared__" for token in found[max(0, position - 5) : position])
    return "*" not in after and "&" not in after and not shared


def _variables(before: str, old: Function, after: str, new: Function) -> Iterator[Finding]:
    """Variables that keep their name and lose width."""
    had = {each.name: each for each in sorted(_declared(before, old), key=_bits, reverse=True)}  # the narrowest
    for each in _declared(after, new):
        known = had.get(each.name)
        if known and known.plain == each.plain and 0 < _bits(each) < _bits(known):
            line = after.count("\n", 0, each.start) + 1
            yield f"makes {each.name} `{each.type}`", line, f"keep `{known.type}`"


def _declared(text: str, function: Function) -> list[Variable]:
    return [each for each in variables(text) if function.start <= each.start < function.end]


def _bits(variable: Variable) -> int:
    """Of a whole number; 0 when the type is another one."""
    words = variable.type.replace("<", " ").replace(">", " ").split()
    if any(_LONG.match(word) for word in words):
        return 64 if "double" not in words else 0
    for pattern, bits in ((_SHORT, 16), (_BYTE, 8), (_INT, 32)):
        if any(pattern.match(word) for word in words):
            return bits
    return 0

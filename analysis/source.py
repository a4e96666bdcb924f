"""Which functions a CUDA or C++ file holds, and where: the one home of parse trees.

The parser (tree-sitter-cuda, used for plain C++ too) does not run the preprocessor. It loses kernels that a macro
makes or whose braces or parameters an ``#if`` splits; around such places it leaves an error, and every function that
touches one is marked ``uncertain``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from analysis.tokens import Token, tokens

FunctionKind = Literal["kernel", "device", "host"]

# Attributes that the grammar does not know. They are blanked with spaces of the same length, so that places stay.
_UNKNOWN_ATTRIBUTE = re.compile(
    r"\b(?:__cluster_dims__|__maxnreg__|__block_size__|__align__|__nv_pure__|__tile_global__)\b"
    r"(?:\s*\((?:[^()]|\([^()]*\))*\))?"
)
_QUERY = "(function_definition) @function (call_expression) @call (ERROR) @error (MISSING) @error"
_DECLARING = ("declaration", "parameter_declaration", "optional_parameter_declaration", "field_declaration")
_DECLARATIONS = f"[{' '.join(f'({each})' for each in (*_DECLARING, 'for_range_loop'))}] @found"
_SCOPES = frozenset(
    {"compound_statement", "for_statement", "if_statement", "while_statement", "switch_statement", "for_range_loop"}
    | {"function_definition", "lambda_expression", "declaration", "field_declaration", "field_declaration_list"}
    | {"namespace_definition", "catch_clause", "type_definition", "template_declaration"}
)
_INACTIVE = re.compile(r"#if \(?(?:0|false)\)?$")
_ACTIVE = re.compile(r"#if \(?(?:1|true)\)?$")


@dataclass(frozen=True, slots=True)
class Function:
    """One function definition. Lines count from 1, inclusive; offsets are characters of the text.

    ``first_line`` is where its template head, linkage or attributes begin; ``body`` is the offset of its ``{``.
    ``qualified`` has namespaces and classes in front and specialisation arguments behind. ``signature`` is
    everything before the body with single spaces. ``calls``: plain names of what it calls, launches included.
    """

    name: str
    qualified: str
    kind: FunctionKind
    first_line: int
    last_line: int
    body_first_line: int
    signature: str
    parameters: tuple[str, ...]
    calls: tuple[str, ...]
    uncertain: bool
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Variable:
    """One declared variable, parameter or field. ``type`` is what stands in front of the first name of its
    declaration, with single spaces; ``start`` the offset of its name, ``scope`` that behind the last place where the
    name means it. ``plain``: neither pointer, array nor reference.
    """

    name: str
    type: str
    start: int
    scope: int
    plain: bool
    field: bool


def split_lines(text: str) -> list[str]:
    """Lines with their ends, split where compilers and diffs split: after ``\\n`` and nowhere else."""
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


@lru_cache(maxsize=64)
def functions(text: str) -> tuple[Function, ...]:
    """All function definitions in order, without those nested in another one and those under ``#if 0``."""
    tree = _parser().parse(_parsable(text).encode("ascii"))
    found = QueryCursor(_query(_QUERY)).captures(tree.root_node)
    starts = [at.start() + 1 for at in re.finditer("\n", text)]
    errors = found.get("error", [])
    calls = sorted((node.start_byte, _callee(node)) for node in found.get("call", []))
    nodes = sorted(_outermost(found.get("function", [])), key=lambda node: node.start_byte)
    return tuple(_function(text, starts, node, calls, errors) for node in nodes)


@lru_cache(maxsize=64)
def variables(text: str) -> tuple[Variable, ...]:
    """Everything that declarations name, by place; functions and types are left out."""
    tree = _parser().parse(_parsable(text).encode("ascii"))
    found = QueryCursor(_query(_DECLARATIONS)).captures(tree.root_node).get("found", [])
    return tuple(sorted((each for node in found for each in _variables(text, node)), key=lambda each: each.start))


def function_at(found: Sequence[Function], line: int) -> Function | None:
    """The function whose lines hold ``line``, or None between functions."""
    return next((each for each in found if each.first_line <= line <= each.last_line), None)


def parse_errors(text: str) -> tuple[int, ...]:
    """Lines at which the parser lost its way, ascending."""
    tree = _parser().parse(_parsable(text).encode("ascii"))
    found = QueryCursor(_query("(ERROR) @error (MISSING) @error")).captures(tree.root_node)
    return tuple(sorted({node.start_point.row + 1 for node in found.get("error", [])}))


def inactive(text: str) -> tuple[tuple[int, int], ...]:
    """Stretches (start, end offset) that no compiler reads: under ``#if 0``, and the ``#else`` of ``#if 1``."""
    return tuple(_inactive([token for token in tokens(text) if token.kind == "directive"], len(text)))


@cache
def _language() -> Language:
    return Language(tree_sitter_cuda.language())


@cache
def _query(text: str) -> Query:
    return Query(_language(), text)


@cache
def _parser() -> Parser:
    return Parser(_language())


def _parsable(text: str) -> str:
    """Same length, ASCII only, so that a byte is a character; unknown attributes and inactive text blanked."""
    plain = re.sub(r"[^\x00-\x7f]", "x", text)
    for start, end in inactive(plain):
        plain = plain[:start] + _blank(plain[start:end]) + plain[end:]
    return _UNKNOWN_ATTRIBUTE.sub(lambda found: _blank(found.group()), plain)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _inactive(directives: Sequence[Token], length: int) -> Iterator[tuple[int, int]]:
    """Follows conditionals; ``open_`` holds for each whether its present branch is dead and since where."""
    open_: list[tuple[str, int | None]] = []
    for token in directives:
        word = token.text[1:].split(" ")[0].split("(")[0]
        if word in ("if", "ifdef", "ifndef"):
            dead = bool(_INACTIVE.match(token.text))
            always = bool(_ACTIVE.match(token.text))
            open_.append(("always" if always else "dead" if dead else "", token.end if dead else None))
        elif word in ("else", "elif", "elifdef", "elifndef", "endif") and open_:
            state, since = open_.pop()
            if since is not None:
                yield since, token.start
            if word != "endif":
                open_.append((state, token.end if state == "always" else None))
    if open_ and open_[0][1] is not None:
        yield open_[0][1], length


def _outermost(nodes: Sequence[Node]) -> Iterator[Node]:
    """Definitions not inside another definition's body: local classes belong to the function that holds them."""
    end = -1
    for node in sorted(nodes, key=lambda each: (each.start_byte, -each.end_byte)):
        if node.start_byte >= end and node.child_by_field_name("body") is not None:
            yield node
            end = node.end_byte


def _function(
    text: str, starts: Sequence[int], node: Node, calls: Sequence[tuple[int, str]], errors: Sequence[Node]
) -> Function:
    outer = _with_head(node)
    body = node.child_by_field_name("body")
    assert body is not None, "filtered by _outermost"
    start, opening, end = outer.start_byte, body.start_byte, node.end_byte
    signature = " ".join(text[start:opening].split())
    name, qualified, parameters = _names(text, node)
    return Function(
        name=name,
        qualified=qualified,
        kind=_kind(text[start:opening]),
        first_line=bisect_right(starts, start) + 1,
        last_line=bisect_right(starts, end - 1) + 1,
        body_first_line=bisect_right(starts, opening) + 1,
        signature=signature,
        parameters=parameters,
        calls=tuple(dict.fromkeys(callee for at, callee in calls if opening <= at < end and callee)),
        uncertain=any(each.start_byte < end and start < max(each.end_byte, each.start_byte + 1) for each in errors),
        start=start,
        body=opening,
        end=end,
    )


def _with_head(node: Node) -> Node:
    """The definition together with ``template <...>`` and ``extern "C"`` in front of it."""
    while node.parent is not None and node.parent.type in ("template_declaration", "linkage_specification"):
        node = node.parent
    return node


def _kind(head: str) -> FunctionKind:
    names = {token.text for token in tokens(head) if token.kind == "name"}
    if "__global__" in names:
        return "kernel"
    return "device" if "__device__" in names else "host"


def _names(text: str, node: Node) -> tuple[str, str, tuple[str, ...]]:
    declarator = _declarator(node)
    if declarator is None:
        return "", "", ()
    inner = declarator.child_by_field_name("declarator")
    written = "".join(text[inner.start_byte : inner.end_byte].split()) if inner is not None else ""
    scopes = [*_scopes(text, node), written]
    plain = re.sub(r"<.*>$", "", written) if "operator" not in written else written
    listed = declarator.child_by_field_name("parameters")
    kept = [child for child in listed.named_children if child.type != "comment"] if listed is not None else []
    parameters = tuple(" ".join(text[child.start_byte : child.end_byte].split()) for child in kept)
    return plain.split("::")[-1], "::".join(scopes), parameters


def _declarator(node: Node) -> Node | None:
    """The innermost function declarator: ``int (*f(int))(int)`` declares ``f``."""
    found, here = None, node.child_by_field_name("declarator")
    while here is not None:
        if here.type == "function_declarator":
            found = here
        inner = here.child_by_field_name("declarator")
        if inner is None and here.type in ("reference_declarator", "parenthesized_declarator"):
            inner = here.named_children[-1] if here.named_children else None
        here = inner
    return found


def _variables(text: str, node: Node) -> Iterator[Variable]:
    declarators = node.children_by_field_name("declarator")
    for each in declarators:
        here: Node | None = each
        plain = True
        while here is not None and here.type not in ("identifier", "field_identifier", "function_declarator"):
            plain = plain and here.type == "init_declarator"
            here = here.child_by_field_name("declarator") or (here.named_children[-1] if here.named_children else None)
        if here is not None and here.type != "function_declarator":
            type_ = " ".join(text[node.start_byte : declarators[0].start_byte].split())
            name = text[here.start_byte : here.end_byte]
            yield Variable(name, type_, here.start_byte, _scope_end(node), plain, node.type == "field_declaration")


def _scope_end(declaration: Node) -> int:
    """A parameter of a declared function ends with the declaration, everything else with its statement or block."""
    here = declaration
    if declaration.type == "for_range_loop":
        return here.end_byte
    while here.parent is not None and (here is declaration or here.type not in _SCOPES):
        here = here.parent
    return here.end_byte


def _scopes(text: str, node: Node) -> list[str]:
    scopes: list[str] = []
    parent = node.parent
    while parent is not None:
        if parent.type in ("namespace_definition", "class_specifier", "struct_specifier", "union_specifier"):
            name = parent.child_by_field_name("name")
            scopes.insert(0, text[name.start_byte : name.end_byte] if name is not None else "(anonymous namespace)")
        parent = parent.parent
    return scopes


def _callee(call: Node) -> str:
    """The plain name: ``f`` for ``a::f<int>(..)``, ``x.f(..)`` and ``f<<<..>>>(..)``; empty for an expression."""
    here = call.child_by_field_name("function")
    while here is not None and here.type not in ("identifier", "field_identifier"):
        here = here.child_by_field_name("name") or here.child_by_field_name("field")
    return here.text.decode() if here is not None and here.text else ""

"""Toolchains by name: how programs of a kind are built, run, checked and profiled."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from evaluation.toolchains.base import Toolchain

TOOLCHAINS: Mapping[str, str] = {
    "cpu": "evaluation.toolchains.cpu",
    "cuda": "evaluation.toolchains.cuda",
}


def load(name: str) -> Toolchain:
    """The toolchain module of that name. Raises KeyError for a name that is not in ``TOOLCHAINS``."""
    return cast(Toolchain, import_module(TOOLCHAINS[name]))

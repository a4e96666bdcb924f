"""Where and by how much two files differ, in a sentence. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evaluation.types import OutputFile

_Floats = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_LARGEST, _SMALLEST = 1e30, 1e-30  # magnitudes that results have; random bits read as floats soon leave this range


def how_different(before: OutputFile, after: OutputFile) -> str:
    """``out/x.bin differs from byte 512 on (12 of 4,096 bytes)``, and the size of it when they look like floats."""
    if before.size != after.size:
        return f"{before.path} has {after.size:,} bytes, before {before.size:,}"
    if before.content is None or after.content is None:
        return f"{before.path} differs ({before.size:,} bytes, too large to be kept: only the hashes were compared)"
    old, new = (np.frombuffer(file.content or b"", dtype=np.uint8) for file in (before, after))
    different = np.flatnonzero(old != new)
    floats = float_difference(before.content, after.content)
    where = f"from byte {different[0]:,} on ({len(different):,} of {before.size:,} bytes)"
    return f"{before.path} differs {where}{f'; {floats}' if floats else ''}"


def float_difference(before: bytes, after: bytes) -> str:
    """The largest absolute and relative difference and the distance in units of the last place (ULP).

    Nobody says what a file holds: it is read as doubles, else as floats, if that gives plausible numbers on both
    sides; else the answer is empty.
    """
    for size in (8, 4):
        if len(before) % size == 0:
            old, new = _floats(before, size), _floats(after, size)
            if _plausible(old) and _plausible(new):
                return _float_sentence(old, new)
    return ""


def _floats(data: bytes, size: int) -> _Floats:
    return np.frombuffer(data, dtype=np.float64) if size == 8 else np.frombuffer(data, dtype=np.float32)


def _plausible(values: _Floats) -> bool:
    if not np.isfinite(values).all():
        return False
    magnitude = np.abs(values[values != 0])
    return bool(((magnitude > _SMALLEST) & (magnitude < _LARGEST)).all())


def _float_sentence(old: _Floats, new: _Floats) -> str:
    a, b = old.astype(np.float64), new.astype(np.float64)
    absolute = np.abs(a - b)
    scale = np.maximum(np.abs(a), np.abs(b))
    relative = np.divide(absolute, scale, out=np.zeros_like(absolute), where=scale > 0)
    ulps = _ulp_distance(old, new)
    name = f"read as {8 * old.dtype.itemsize}-bit floats"
    return f"{name} at most {absolute.max():.3g} apart, {relative.max():.3g} relative, {ulps:,} ULP"


def _ulp_distance(old: _Floats, new: _Floats) -> int:
    """Floats of one sign are ordered like their bits; negative ones count downwards from zero."""
    bits = np.dtype(f"<i{old.dtype.itemsize}")
    lowest = np.iinfo(bits).min
    differ = np.flatnonzero(old.view(bits) != new.view(bits))
    a, b = (np.where(v < 0, lowest - v, v).astype(object) for v in (old.view(bits)[differ], new.view(bits)[differ]))
    return int(np.abs(a - b).max()) if len(differ) else 0  # as Python numbers: the distance can exceed 64 bits

"""Array types, and the checks that every entry point makes on what it is given."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

# np.bincount adds in float64, which holds every integer up to here exactly.
EXACT_FLOAT_LIMIT = 2**53


def integers(values: npt.ArrayLike, name: str) -> IntArray:
    """`values` as a one-dimensional int64 array.

    Raises ValueError where they are not integers (booleans and floats are not) or not one-dimensional.
    """
    array: npt.NDArray[Any] = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a one-dimensional array, found {array.ndim} dimensions")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected integers, found {array.dtype}")
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name}: expected integers below 2**63, found {int(array.max())}")
    return array.astype(np.int64, copy=False)


def reals(values: npt.ArrayLike, name: str) -> FloatArray:
    """`values` as a one-dimensional float64 array.

    Raises ValueError where one is NaN or infinite, or the array is not one-dimensional.
    """
    array: npt.NDArray[Any] = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a one-dimensional array, found {array.ndim} dimensions")
    if array.size and array.dtype.kind not in "iufb":
        raise ValueError(f"{name}: expected numbers, found {array.dtype}")
    numbers = array.astype(np.float64, copy=False)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(f"{name}: expected finite numbers, found {numbers[bad[0]]} at position {bad[0]}")
    return numbers


def same_length(expected: int, found: int, name: str) -> None:
    """Raise ValueError unless the two lengths are equal."""
    if expected != found:
        raise ValueError(f"{name}: expected {expected} values, found {found}")


def compact(codes: IntArray) -> tuple[IntArray, int]:
    """Relabel codes 0..k-1, keeping their order, and return them with k. O(n) for dense codes, else one sort."""
    if not codes.size:
        return codes, 0
    low = int(codes.min())
    span = int(codes.max()) - low + 1
    if span <= 4 * codes.size + 1024:
        present = np.zeros(span, dtype=np.bool_)
        present[codes - low if low else codes] = True
        if low == 0 and bool(present.all()):
            return codes, span
        rank = np.cumsum(present, dtype=np.int64) - 1
        return rank[codes - low], int(rank[-1]) + 1
    distinct, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), int(distinct.size)


def sums_by(codes: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sum of the values of each code, shape (size,); added in row order, so the same rows give the same digits."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64, copy=False)


def paired_codes(first: IntArray, second: IntArray, second_size: int) -> IntArray:
    """One code per pair of codes, ordered by the first, then the second. Raises ValueError on overflow of int64."""
    if first.size and (int(first.max()) + 1) * second_size > np.iinfo(np.int64).max:
        raise ValueError(f"expected codes whose pairs fit in 63 bits, found {int(first.max()) + 1} x {second_size}")
    return first * np.int64(second_size) + second

"""p-values as documents write them."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import StringConstraints

Probability = Annotated[str, StringConstraints(pattern=r"^(0|1|0[.][0-9]+|[0-9]([.][0-9]+)?e-[0-9]+)$", max_length=32)]
"""A p-value in six significant digits, such as `0.0312500` or `1.20000e-09`; 0 only where it is not known how small."""


def probability(p: float, log10: float | None = None) -> str:
    """A p-value in [0, 1] as text; from its logarithm, where that is given, if it is too small for a float."""
    if p >= 1e-4:
        shown = f"{p:#.6g}"
        return "1" if shown == "1.00000" else shown
    if p > 1e-300:
        return f"{p:.5e}"
    if log10 is None:
        return "0" if p == 0 else f"{p:.5e}"
    exponent = math.floor(log10)
    mantissa = f"{10 ** (log10 - exponent):.5f}"
    return f"{mantissa}e{exponent}" if mantissa != "10.00000" else f"1.00000e{exponent + 1}"

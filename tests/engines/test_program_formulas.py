"""The formulas of the eBPF programs, in integers, against real numbers."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

HEADER = Path(__file__).parents[2] / "bpf" / "anabranch_formulas.bpf.h"
TYPES = {"u32": ctypes.c_uint32, "u64": ctypes.c_uint64, "int": ctypes.c_int, "bool": ctypes.c_bool}
FUNCTIONS = {
    "cube_root": "u32 u64",
    "cubic_k": "u32 u32 u32",
    "cubic_window": "u32 u32 u32 u32",
    "cubic_segments_per_reno_increase": "u32 u32",
    "kikolo_region": "int u64 u32",
    "kikolo_increase": "u64 u64 int bool u32",
    "kikolo_reduced": "u32 u64 int",
}
SLOW_START, RAMP_UP, ADDITIVE = range(3)
RHO, GAMMA, BETA_1, BETA_2, BETA_3 = 4, Fraction("0.005"), Fraction("0.85"), Fraction("0.75"), Fraction("0.95")
WINDOWS = st.integers(2 << 16, 1_000_000 << 16)


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[..., int]]:
    """The header's functions, compiled for this machine."""
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source = tmp_path_factory.mktemp("formulas") / "formulas.c"
    lines = [
        "typedef unsigned int u32; typedef unsigned long long u64; typedef _Bool bool;",
        "#define __always_inline inline",
        f'#include "{HEADER}"',
    ]
    for name, signature in FUNCTIONS.items():
        result, *arguments = signature.split()
        formal = ", ".join(f"{kind} a{index}" for index, kind in enumerate(arguments))
        actual = ", ".join(f"a{index}" for index in range(len(arguments)))
        lines.append(f"{result} c_{name}({formal}) {{ return {name}({actual}); }}")
    source.write_text("\n".join(lines) + "\n")
    library = source.with_suffix(".so")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library))
    functions = {}
    for name, signature in FUNCTIONS.items():
        function = getattr(loaded, f"c_{name}")
        result, *arguments = (TYPES[kind] for kind in signature.split())
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


@given(root=st.integers(1, 1_600_000), beyond=st.integers(0, 2**62))
def test_the_cube_root_is_rounded_down(c: dict[str, Callable[..., int]], root: int, beyond: int) -> None:
    following = (root + 1) ** 3 - root**3
    assert c["cube_root"](root**3 + beyond % following) == root


@given(maximum=st.integers(10, 10_000_000), elapsed_s=st.floats(0, 60))
def test_cubics_curve_is_rfc_9438s(c: dict[str, Callable[..., int]], maximum: int, elapsed_s: float) -> None:
    """Equations 1 and 2 with C = 0.4 and beta = 0.7: within the rounding of times to ticks and of windows to segments."""
    window = int(0.7 * maximum)
    k = ((maximum - window) / 0.4) ** (1 / 3)
    exact = 0.4 * (elapsed_s - k) ** 3 + maximum
    k_ticks = c["cubic_k"](maximum, window)
    assert abs(k_ticks - 1024 * k) < 1.01
    found = c["cubic_window"](round(1024 * elapsed_s), k_ticks, maximum)
    slope = 1.2 * (elapsed_s - k) ** 2 / 1024  # segments a tick: three ticks are rounded
    assert abs(found - max(exact, 1)) <= 2 + 3 * slope


def test_renos_window_grows_as_rfc_9438_section_4_3_says(c: dict[str, Callable[..., int]]) -> None:
    """cwnd / alpha with alpha = 3 (1 - beta) / (1 + beta) = 0.529: 189 for 100."""
    assert c["cubic_segments_per_reno_increase"](100) == 189


@given(window=WINDOWS, ssthresh=st.integers(2, 1_000_000))
def test_kikolos_regions_are_table_1s(c: dict[str, Callable[..., int]], window: int, ssthresh: int) -> None:
    cwnd = Fraction(window, 1 << 16)
    expected = SLOW_START if cwnd < ssthresh else RAMP_UP if cwnd < (1 + GAMMA) * ssthresh else ADDITIVE
    assert c["kikolo_region"](window, ssthresh) == expected


@given(window=WINDOWS, region=st.sampled_from([RAMP_UP, ADDITIVE]), refined=st.booleans(), acked=st.integers(1, 10_000))
def test_kikolos_growth_is_table_1s_rounded_down(
    c: dict[str, Callable[..., int]], window: int, region: int, refined: bool, acked: int
) -> None:
    share = (BETA_1 if refined else 1) * (RHO if region == RAMP_UP else 1)
    exact = acked * share / Fraction(window, 1 << 16) * (1 << 16)
    assert c["kikolo_increase"](window, region, refined, acked) == int(exact)


@given(window=WINDOWS, region=st.sampled_from([SLOW_START, RAMP_UP, ADDITIVE]))
def test_kikolos_reduction_is_table_1s_rounded_down(c: dict[str, Callable[..., int]], window: int, region: int) -> None:
    exact = Fraction(window, 1 << 16) * (BETA_3, BETA_1, BETA_2)[region]
    assert c["kikolo_reduced"](window, region) == max(int(exact), 2)

"""Unit strings become exact numbers, and what is refused says what would be right."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.foundation import units
from anabranch.foundation.units import QueueLimit, UnitError


@pytest.mark.parametrize(
    ("text", "picoseconds"),
    [
        ("10ms", 10**10),
        ("0.1ms", 10**8),
        ("1e-3 s", 10**9),
        ("20 h", 72 * 10**15),
        ("2.5us", 2_500_000),
        ("2.5µs", 2_500_000),
        ("1ps", 1),
        ("1_000ns", 10**6),
        ("0s", 0),
        (".5 s", 5 * 10**11),
        ("1.min", 60 * 10**12),
    ],
)
def test_a_duration_is_exact_picoseconds(text: str, picoseconds: int) -> None:
    assert units.duration(text) == picoseconds


@pytest.mark.parametrize(
    ("text", "bits_per_second"),
    [
        ("1 Gbps", 10**9),
        ("1.5 Mbit/s", 1_500_000),
        ("10Mb/s", 10**7),
        ("9600bps", 9600),
        ("1 MB/s", 8 * 10**6),
        ("1 MiB/s", 8 * 2**20),
        ("400Gbps", 4 * 10**11),
    ],
)
def test_a_rate_is_exact_bits_per_second(text: str, bits_per_second: int) -> None:
    assert units.rate(text) == bits_per_second


def test_sizes_lengths_speeds_and_frequencies() -> None:
    assert units.size("3 MB") == 3_000_000
    assert units.size("64KiB") == 65536
    assert units.size("1460 bytes") == 1460
    assert units.packets("100 packets") == 100
    assert units.length("1000km") == 1_000_000
    assert units.speed("2e8 m/s") == 200_000_000
    assert units.speed("299792.458 km/s") == Fraction(299792458)
    assert units.frequency("100/s") == 100
    assert units.frequency("30 /min") == Fraction(1, 2)


def test_a_queue_limit_counts_packets_bytes_or_bandwidth_delay_products() -> None:
    assert units.queue_limit("100 packets") == QueueLimit(Fraction(100), "packets")
    assert units.queue_limit("3 MB") == QueueLimit(Fraction(3_000_000), "bytes")
    assert units.queue_limit("0.5 bdp") == QueueLimit(Fraction(1, 2), "bdp")


@pytest.mark.parametrize(
    ("parse", "text", "hint"),
    [
        (units.duration, "10", '"10ms"'),
        (units.duration, "10 parsecs", '"10ms"'),
        (units.duration, "ms", "a number and a unit"),
        (units.duration, "-1s", "not negative"),
        (units.duration, "21h", "20 hours"),
        (units.duration, "0.1ps", "whole picoseconds"),
        (units.duration, "1e999s", "sensible"),
        (units.duration, "1" * 60 + "s", "sensible"),
        (units.duration, "10 MS", 'did you mean "10 ms"'),
        (units.rate, "10mbps", 'did you mean "10 Mbps"'),
        (units.rate, "60MBps", '"MBps" means bytes, and rates are in bits: write "480 Mbps"'),
        (units.rate, "10 ms", '"10Mbps"'),
        (units.rate, "0.5bps", "whole bits per second"),
        (units.size, "10 packets", '"3 MB"'),
        (units.packets, "1.5 packets", "whole packets"),
        (units.packets, "5000000000 packets", "at most"),
        (units.queue_limit, "10ms", "bdp"),
        (units.duration, "nan s", "a number and a unit"),
        (units.duration, "1s\n", "a number and a unit"),
        (units.duration, "", "a number and a unit"),
    ],
)
def test_what_is_wrong_says_what_would_be_right(parse: object, text: str, hint: str) -> None:
    with pytest.raises(UnitError) as refusal:
        parse(text)  # type: ignore[operator]
    assert hint in str(refusal.value)


@pytest.mark.parametrize("value", [10, 1.5, True, None, ["10ms"]])
def test_a_value_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(UnitError, match="with its unit"):
        units.duration(value)  # type: ignore[arg-type]


@given(st.integers(0, units.LONGEST))
def test_formatting_a_duration_is_undone_by_reading_it(picoseconds: int) -> None:
    assert units.duration(units.format_duration(picoseconds)) == picoseconds


@given(st.decimals(0, 10**5, places=6, allow_nan=False, allow_infinity=False))
def test_decimal_digits_survive_exactly(number: object) -> None:
    assert units.speed(f"{number} m/s") == Fraction(str(number))


@given(st.text(max_size=30))
def test_no_text_breaks_the_reader(text: str) -> None:
    for parse in (units.duration, units.rate, units.size, units.packets, units.queue_limit, units.length):
        with contextlib.suppress(UnitError):
            parse(text)

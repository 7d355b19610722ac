"""Writes trace_fields.h: copies of all fields of our structs into memory that has our layout. Argument: layout.btf."""

import sys
from pathlib import Path

from anabranch.engines.kernel.linux_programs.layouts import Btf, Field

ELEMENTS = {"rtt_min.s": 4, "inet_conn.icsk_ca_priv": 8}
"""Bytes of the numbers in an array."""


def copy(field: Field) -> str:
    """The statement for a field; pointers are left out."""
    at, source = field.bit_offset // 8, f"from->{field.name}"
    if field.is_bit_field:
        value = f"BPF_CORE_READ_BITFIELD(from, {field.name}) << {field.bit_offset % 8}"
        return f"	to[{at}] |= {value};"
    if field.is_pointer:
        return ""
    size = ELEMENTS.get(field.name)
    if size:
        lines = (
            f"	*(u{8 * size} *)(to + {at + i * size}) = ((const u{8 * size} *)&{source})[{i}];"
            for i in range(field.bits // 8 // size)
        )
        return "\n".join(lines)
    return f"	*(u{field.bits} *)(to + {at}) = {source};"


def main() -> None:
    """Print the functions."""
    layout = Btf(Path(sys.argv[1]))
    print("/* SPDX-License-Identifier: MIT OR GPL-2.0-only */\n/* Written by trace_fields.py from layout.btf. */")
    for name in ("tcp_sock", "ack_sample", "rate_sample"):
        print(f"\nenum {{ {name.upper()}_SIZE = {layout.size(name)} }};\n")
        print(f"static __always_inline void save_{name}(u8 *to, const struct {name} *from)\n{{")
        print("\n".join(line for line in map(copy, layout.fields(name).values()) if line))
        print("}")


main()

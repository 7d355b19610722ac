"""The structs of the kernel or of the simulator, from BTF."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anabranch.engines.kernel.linux_programs.libbpf import KERNEL_BTF, LinuxError, libbpf

_INT, _POINTER, _ARRAY, _STRUCT, _UNION = 1, 2, 3, 4, 5
_MODIFIERS = (8, 9, 10, 11, 18)
"""Typedef, volatile, const, restrict, type tag."""


@dataclass(frozen=True)
class Field:
    """A field of a struct, or of a struct in it."""

    name: str
    """Its name with the names of the structs around it, such as ``inet_conn.icsk_rto``."""
    bit_offset: int
    bits: int
    is_bit_field: bool
    is_pointer: bool


class Btf:
    """The types of the kernel or of an object."""

    def __init__(self, path: Path = KERNEL_BTF) -> None:
        """Read raw BTF."""
        self._library = libbpf()
        data = path.read_bytes()
        self._address = self._library.call("btf__new", data, len(data))

    def _type(self, number: int) -> tuple[int, int, int, int, list[int]]:
        """Name, kind, kind flag, size or type, and the words behind."""
        words = self._library.words("btf__type_by_id", self._address, number)
        name, info, size = words[0], words[1], words[2]
        kind, count = info >> 24 & 31, info & 0xFFFF
        following = {_ARRAY: 3, _STRUCT: 3 * count, _UNION: 3 * count}.get(kind, 0)
        return name, kind, info >> 31, size, [words[3 + at] for at in range(following)]

    def _name(self, offset: int) -> str:
        return self._library.text("btf__name_by_offset", self._address, offset)

    def _find(self, name: str) -> int:
        try:
            return self._library.call("btf__find_by_name_kind", self._address, name.encode(), _STRUCT)
        except OSError:
            raise LinuxError(f"BTF has no struct {name}") from None

    def size(self, name: str) -> int:
        """Bytes of a struct."""
        return self._library.call("btf__resolve_size", self._address, self._find(name))

    def members(self, name: str) -> list[str]:
        """Names of a struct's members, in order."""
        return [self._name(offset) for offset in self._type(self._find(name))[4][::3]]

    def fields(self, name: str) -> dict[str, Field]:
        """A struct's fields and those of the structs in it, by name; an array is one field."""
        return {field.name: field for field in self._fields(self._find(name), "", 0)}

    def _fields(self, number: int, prefix: str, offset: int) -> Iterator[Field]:
        _, _, has_bit_fields, _, words = self._type(number)
        for name, member, at in zip(words[::3], words[1::3], words[2::3], strict=True):
            bits, begin = (at >> 24, at & 0xFFFFFF) if has_bit_fields else (0, at)
            inner = self._without_modifiers(member)
            kind = self._type(inner)[1]
            label = prefix + self._name(name)
            if kind in (_STRUCT, _UNION):
                yield from self._fields(inner, f"{label}." if self._name(name) else prefix, offset + begin)
            else:
                size = bits or 8 * self._library.call("btf__resolve_size", self._address, inner)
                yield Field(label, offset + begin, size, bits > 0, kind == _POINTER)

    def _without_modifiers(self, number: int) -> int:
        while (found := self._type(number))[1] in _MODIFIERS:
            number = found[3]
        return number

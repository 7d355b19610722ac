"""``--source-port`` and ``--dscp``: flows that an export sends over routes of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anabranch.cli.exit_status import UsageError
from anabranch.engineering.routes.model import Routes

RoutesOf = Callable[[str, str], Routes]
"""The routes of a class: takes the option with its value, for messages, and what follows the sign of equality."""


@dataclass(frozen=True)
class TrafficClasses:
    """Classes of flows, each as ``KEY=VALUE``, where VALUE says which routes it takes."""

    source_ports: list[str] | None = None
    dscp: list[str] | None = None

    def options(self, format: str, values: str, example: str, routes_of: RoutesOf) -> dict[str, Any]:
        """The options of an export; ``values`` is what a value is, such as ``METRIC``, and ``example`` one of them.

        Raises:
            UsageError: names the option and its value, and what would be right.
        """
        from anabranch.engineering.routes.export.classes import dscp_of, port_range

        return {
            **self._option(self.source_ports, "source-port", "tcp_source_ports", format, (port_range, f"PORT={values}", f"5001={example}"), routes_of),
            **self._option(self.dscp, "dscp", "dscp", format, (dscp_of, f"DSCP={values}", f"46={example}"), routes_of),
        }  # fmt: skip

    @staticmethod
    def _option(
        entries: list[str] | None,
        option: str,
        name: str,
        format: str,
        form: tuple[Callable[[str], tuple[int, int]], str, str],
        routes_of: RoutesOf,
    ) -> dict[str, Any]:
        from anabranch.engineering.routes.export import FORMATS, ExportError

        if not entries:
            return {}
        if format in FORMATS and name not in FORMATS[format].options:
            able = [key for key, one in FORMATS.items() if name in one.options]
            raise UsageError(f"--{option} goes with --export {', '.join(able[:-1])} or {able[-1]}, not with {format}")
        parse, shape, example = form
        taken: dict[str, tuple[int, int]] = {}
        found: dict[str, Routes] = {}
        for entry in entries:
            place = f"--{option} {entry}"
            key, equals, value = entry.partition("=")
            if not equals:
                raise UsageError(f"{place}: must be {shape}, such as {example}")
            try:
                first, last = parse(key)
            except ExportError as error:
                raise UsageError(f"{place}: {error}") from None
            for other, (begin, end) in taken.items():
                if first <= end and begin <= last:
                    raise UsageError(f"{place}: overlaps with {other}; give each class once")
            taken[key] = first, last
            found[key] = routes_of(place, value)
        return {name: found}

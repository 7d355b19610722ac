"""Describes in words which features of the simulator an eBPF object needs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict, cast

from anabranch import _core
from anabranch.foundation import input_files

LARGEST = 2**20
"""Bytes of an object."""


class ObjectControl(TypedDict):
    """A congestion control of an object."""

    name: str
    operations: list[str]
    fields: list[str]
    functions: list[str]
    missing: list[str]
    shared: list[str]
    needs_ecn: bool


class Description(TypedDict):
    """An object: its licence and its congestion controls."""

    licence: str
    controls: list[ObjectControl]


def describe(path: Path) -> Description:
    """Describes the contents and needs of an object.

    Raises:
        InputError: the file cannot be read, or is no such object.
    """
    content = input_files.content(path, LARGEST)
    try:
        return cast(Description, json.loads(_core.describe_program(content)))
    except ValueError as error:
        raise input_files.InputError(path, str(error)) from None


GPL_COMPATIBLE = ("GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL")
"""Linux's ``license_is_gpl_compatible`` (include/linux/license.h), which its verifier asks of struct_ops programs."""


def findings(licence: str, control: ObjectControl) -> Iterator[str]:
    """What Linux would refuse of a control, and what the simulator lacks or does otherwise: a sentence each."""
    if licence not in GPL_COMPATIBLE:
        yield f'has licence "{licence}": Linux refuses it; the object needs one compatible with the GPL, such as "GPL"'
    if control["missing"]:
        yield f"uses {', '.join(control['missing'])}, which the simulator lacks: a run ends at the first use"
    if control["shared"]:
        yield f"has a copy of {', '.join(control['shared'])} for each flow here, where in Linux all flows share one"


def lines(description: Description) -> Iterator[str]:
    """The description as lines of text."""
    for control in description["controls"]:
        licence = description["licence"]
        refused = "" if licence in GPL_COMPATIBLE else ": Linux refuses it"
        yield f"{control['name']} (licence {licence or 'none'}{refused})"
        yield f"  operations  {', '.join(control['operations'])}"
        yield f"  functions   {', '.join(control['functions']) or 'none'}"
        yield f"  fields      {', '.join(control['fields']) or 'none'}"
        missing = ", ".join(control["missing"])
        yield f"  simulator   {f'lacks {missing}; a run ends when it uses them' if missing else 'has all that it needs'}"
        if control["shared"]:
            yield f"  each flow has its own copy, in Linux all share one: {', '.join(control['shared'])}"

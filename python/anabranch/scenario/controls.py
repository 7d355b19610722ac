"""Congestion controls that come with a scenario: eBPF objects for Linux, and classes in Python."""

import ast
import base64
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from anabranch import programs
from anabranch.foundation import input_files
from anabranch.foundation.suggest import suggest
from anabranch.programs import needs
from anabranch.scenario.table import Table

LARGEST_FILE = 2**20
"""Bytes of a file with a control."""


class ProgramControl(Table):
    """A congestion control of Linux: an eBPF object with ``tcp_congestion_ops``, as Linux loads it."""

    program: str = Field(description="An object file such as `my_cc.bpf.o`, or one that comes with Anabranch.")
    name: str | None = Field(None, description="The name of its congestion control, if it has several.")
    _compiled: dict[str, Any] = PrivateAttr()
    _control: needs.ObjectControl = PrivateAttr()
    _licence: str = PrivateAttr()

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> "ProgramControl":
        shipped = programs.find(self.program)
        if shipped is None and not self.program.endswith(".o"):
            raise ValueError(f'"{self.program}" is no object file (.o); {suggest(self.program, programs.NAMES)}')
        path = shipped or (info.context or {}).get("directory", Path()) / self.program
        description = needs.describe(path)
        controls = {control["name"]: control for control in description["controls"]}
        names = list(controls)
        if self.name is None and len(names) > 1:
            raise ValueError(f"{path}: has several congestion controls; choose one by name: {', '.join(names)}")
        if self.name is not None and self.name not in names:
            raise ValueError(f"{path}: has no congestion control {self.name}; {suggest(self.name, names)}")
        encoded = base64.b64encode(input_files.content(path, needs.LARGEST)).decode()
        self._compiled = {"program": encoded, "name": self.name or names[0]}
        self._control = controls[self.name or names[0]]
        self._licence = description["licence"]
        return self

    @property
    def needs_ecn(self) -> bool:
        """Whether Linux's sockets with this control negotiate ECN."""
        return self._control["needs_ecn"]

    @property
    def findings(self) -> list[str]:
        """What Linux would refuse of it, and what the simulator lacks or does otherwise."""
        return list(needs.findings(self._licence, self._control))

    def compiled(self) -> dict[str, Any]:
        """The object's bytes in base 64, and the name of its control."""
        return self._compiled


METHODS = ("on_ack", "avoid_congestion", "on_congestion", "undo", "on_recovered", "on_idle")
"""The methods of a control in Python that the engine calls (:class:`anabranch.engines.control.Control`)."""
_ALIKE = 0.8
"""How alike two names are, from 0 to 1, if one is taken for a misspelling of the other."""


class PythonControl(Table):
    """A congestion control in Python: a class derived from ``anabranch.Control``. It runs some twenty times slower than others."""

    name: ClassVar[str] = "python"
    python: str = Field(
        description='File and class, such as `"my_cc.py:MyControl"`; `run` executes the file, `check` only reads it.'
    )
    _compiled: dict[str, Any] = PrivateAttr()

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> "PythonControl":
        file, separator, name = self.python.rpartition(":")
        if not separator or not file.endswith(".py") or not name.isidentifier():
            raise ValueError(f'python = "{self.python}": must be a file and a class, such as "my_cc.py:MyControl"')
        source = input_files.text((info.context or {}).get("directory", Path()) / file, LARGEST_FILE)
        try:
            classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            raise ValueError(f"{file}{line}: is not Python ({getattr(error, 'msg', error)})") from None
        if name not in classes:
            raise ValueError(
                f"{file}: has no class {name}; {suggest(name, list(classes)) if classes else 'it has none'}"
            )
        _refuse_misspelt(file, classes[name])
        self._compiled = {"python": source, "class": name, "file": file}
        return self

    def compiled(self) -> dict[str, Any]:
        """The file's text and name, and the name of the class."""
        return self._compiled


def _refuse_misspelt(file: str, control: ast.ClassDef) -> None:
    """Refuse a method whose name is nearly that of one that the engine calls: it would never be called.

    Raises:
        ValueError: names the file, the line, the class and the method.
    """
    for one in control.body:
        if not isinstance(one, ast.FunctionDef) or one.name in METHODS:
            continue
        if near := get_close_matches(one.name, METHODS, 1, _ALIKE):
            raise ValueError(
                f'{file}:{one.lineno}: {control.name}.{one.name} is never called; did you mean "{near[0]}"? '
                "A method of your own needs a name less like it."
            )

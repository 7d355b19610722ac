"""Congestion controls that come with a scenario: classes in Python."""

import ast
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from anabranch import input_files
from anabranch.scenario.problems import suggest
from anabranch.scenario.table import Table

LARGEST_FILE = 2**20
"""Bytes of a file with a control."""


class PythonControl(Table):
    """A congestion control in Python: a class derived from ``anabranch.control.Control``. It runs some twenty times slower than others."""

    name: ClassVar[str] = "python"
    python: str = Field(description='File and class, such as `"my_cc.py:MyControl"`; the file\'s code runs.')
    _compiled: dict[str, Any] = PrivateAttr()

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> "PythonControl":
        file, separator, name = self.python.rpartition(":")
        if not separator or not file.endswith(".py") or not name.isidentifier():
            raise ValueError(f'python = "{self.python}": must be a file and a class, such as "my_cc.py:MyControl"')
        source = input_files.text((info.context or {}).get("directory", Path()) / file, LARGEST_FILE)
        try:
            classes = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            raise ValueError(f"{file}{line}: is not Python ({getattr(error, 'msg', error)})") from None
        if name not in classes:
            raise ValueError(f"{file}: has no class {name}; {suggest(name, classes) if classes else 'it has none'}")
        self._compiled = {"python": source, "class": name}
        return self

    def compiled(self) -> dict[str, Any]:
        """The file's text and the name of the class."""
        return self._compiled

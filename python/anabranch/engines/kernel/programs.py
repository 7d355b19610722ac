"""Congestion controls in eBPF that a run's stacks name, loaded into Linux for as long as the run."""

import base64
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anabranch.engines.kernel.linux_programs.loaded import LoadedObject, available

_PATIENCE_S = 20.0
"""Linux frees a control in the background."""


class Programs:
    """Loads each object once."""

    def __init__(self, keep: ExitStack) -> None:
        """The objects stay loaded until ``keep`` is closed."""
        self._keep = keep
        self._loaded: set[str] = set()

    def control(self, congestion: Mapping[str, Any]) -> str:
        """The name in Linux of a compiled congestion control that is a program.

        Raises:
            LinuxError: libbpf or privileges are absent, or Linux refuses the object.
        """
        name: str = congestion["name"]
        if congestion["program"] not in self._loaded:
            ends = time.monotonic() + _PATIENCE_S
            while name in available() and time.monotonic() < ends:
                time.sleep(0.02)
            data = base64.b64decode(congestion["program"])
            self._keep.enter_context(LoadedObject(Path(name), data)).register()
            self._loaded.add(congestion["program"])
        return name

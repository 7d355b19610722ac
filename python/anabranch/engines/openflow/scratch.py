"""A directory that ends with this process, also by ``kill -9``."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp

_REMOVE = 'cat > /dev/null; until rm -rf "$1"; do sleep 0.1; done'
"""A shell that removes a directory once its input ends. Programs that are being killed may still write there, so that one attempt may fail."""


def scratch_directory(keep: ExitStack, parent: Path | None = None) -> Path:
    """A new directory, in ``parent`` or that for temporary files. It is removed with ``keep``, or as soon as this process has ended in another way."""
    directory = mkdtemp(prefix="anabranch-openflow-", dir=parent)
    # In a session of its own: Ctrl-C at the terminal must not end it before the directory is removed.
    remover = subprocess.Popen(["sh", "-c", _REMOVE, "sh", directory], stdin=subprocess.PIPE, start_new_session=True)

    def remove() -> None:
        assert remover.stdin is not None
        remover.stdin.close()
        remover.wait()

    keep.callback(remove)
    return Path(directory)

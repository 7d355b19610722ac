"""Files that only a wheel or an sdist contains: the charts' JavaScript, the examples and notebooks, the first one's topology, and the licences of all contents."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from anabranch.foundation import bundled, examples
from anabranch.network.topologies.topohub_names import BUNDLED
from anabranch.pages.report import libraries
from distribution import crates

LICENCES = "LICENSES.txt"
_VEGA = Path(__file__).with_name("vega-licences.txt")
_NO_EXAMPLES = shutil.ignore_patterns("*.py", "__pycache__")
_RULE = "\n\n" + "=" * 100 + "\n"


@contextmanager
def filled(folder: Path = bundled.FOLDER) -> Iterator[Path]:
    """The folder with its files, for as long as the wheel is made: a checkout has the examples, and takes the rest from the packages."""
    topology = folder / f"{BUNDLED}.json"
    try:
        topology.parent.mkdir(parents=True, exist_ok=True)
        (folder / libraries.FILE).write_text(libraries.make(), encoding="utf-8")
        topology.write_bytes((files("topohub") / "data" / f"{BUNDLED}.json").read_bytes())
        for name in examples.FOLDERS:
            shutil.copytree(crates.ROOT / name, folder / name, ignore=_NO_EXAMPLES)
        for name, file in examples.notebooks().items():
            (folder / examples.NOTEBOOKS).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / examples.NOTEBOOKS / name)
        (folder / LICENCES).write_text(licences(), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder)


def licences() -> str:
    """The texts of the licences of crates and data, each once, under the names of its crates and data.

    Raises:
        ValueError: a crate comes without the text.
    """
    parts = [f"Vega, Vega-Lite and vega-embed\n\n{_VEGA.read_text(encoding='utf-8').strip()}"]
    parts.append(f"TopoHub, topology {BUNDLED}\n\n{_of_package('topohub')}")
    texts = []
    for crate in crates.linked():
        if not crate.texts:
            raise ValueError(f"{crate.name} {crate.version}: has no text of its licence {crate.licence}")
        texts += [(file.read_text(encoding="utf-8").strip(), f"{crate.name} {crate.version}") for file in crate.texts]
    for text, group in groupby(sorted(texts), key=lambda one: one[0]):
        parts.append(f"{', '.join(name for _, name in group)}\n\n{text}")
    return _RULE.join(parts) + "\n"


def _of_package(name: str) -> str:
    found = [file for file in metadata.files(name) or [] if file.name.startswith("LICENSE")]
    if not found:
        raise ValueError(f"{name}: has no text of its licence")
    return "\n\n".join(file.read_text(encoding="utf-8").strip() for file in found)

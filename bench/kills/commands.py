"""The commands that are killed. Each has two versions, which may replace each other's results."""

from dataclasses import dataclass
from pathlib import Path

from bench.kills import process
from bench.kills.scenarios import SMALL

NETWORK = ["topozoo/Abilene", "--hose", "30Mbps", "--capacity", "500Mbps"]


@dataclass(frozen=True)
class Command:
    """A command in two versions."""

    versions: tuple[list[str], list[str]]
    place: str
    """Where its results are, in the folder in which it runs."""
    is_one_result: bool = True
    """Whether the files of one version are never beside those of the other."""
    replaces: bool = True
    """Whether the other version writes to the same place; if not, each begins in a new one."""


COMMANDS = {
    "run": Command((["run", "a.toml", "--out", "out", "-j", "1"], ["run", "b.toml", "--out", "out", "-j", "1"]), "out"),
    "paper": Command(
        (
            ["paper", "mprc", "--out", "out", "--seeds", "2", "-j", "1"],
            ["paper", "mprc", "--out", "out", "--seeds", "3", "-j", "1"],
        ),
        "out",
        is_one_result=False,
        replaces=False,
    ),
    "robust": Command(
        (["robust", *NETWORK, "--out", "out.json"], ["robust", *NETWORK, "--paths", "2", "--out", "out.json"]),
        "out.json",
    ),
    "plan": Command(
        (["plan", *NETWORK, "--paths", "2", "--out", "out"], ["plan", *NETWORK, "--paths", "3", "--out", "out"]),
        "out",
        is_one_result=False,
    ),
    "report": Command((["report", "one", "-o", "out.html"], ["report", "one", "two", "-o", "out.html"]), "out.html"),
}


def prepare(name: str, folder: Path) -> None:
    """Write what the command reads into a new folder."""
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(SMALL.format(title="A", segments=300, seeds=3))
    (folder / "b.toml").write_text(SMALL.format(title="B", segments=600, seeds=2))
    if name == "report":
        for scenario, out in (("a.toml", "one"), ("b.toml", "two")):
            process.run(["run", scenario, "--no-report", "--out", out], folder)

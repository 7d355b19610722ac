"""Reproduced papers: every quick version finds what is expected of it, and finished runs are reused."""

import json
import re
import subprocess
import time
import tomllib
from html import escape
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from anabranch.cli import status
from anabranch.engineering.plan.search import Searcher
from anabranch.engines.packet import CompiledRun
from anabranch.foundation import progress
from anabranch.runs import RunPlan, execute_all
from anabranch.runs.kept import KeptRuns
from anabranch.scenario import Scenario
from anabranch.studies.papers import charts, lab, measures, page, published, readme, registry, statements
from anabranch.studies.papers.fixed_robust_routing import choices
from anabranch.studies.papers.study import Claim, Figure, Findings, Lab, Number, Picture, Table
from tests.scenarios import LINE

EXPECTED = Path(__file__).parents[1] / "papers"
ROOT = Path(__file__).parents[2]


def test_an_interrupted_plan_is_none_of_the_studys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the search of a plan ends the study; the best plan so far would be kept as its result."""

    def interrupted(searcher: Searcher, load: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Searcher, "_search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        choices.plans("nsfnet", [1.0], moves_per_pair=1)


def test_what_is_computed_before_the_runs_shows_progress_and_ends_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A paper's linear programs take minutes before the first run; Ctrl-C among them is answered as during the runs."""

    def compute(*_: object) -> None:
        time.sleep(0.3)
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "QUIET_S", 0.05)
    monkeypatch.setattr(progress, "LINE_INTERVAL_S", 0.1)
    monkeypatch.setattr(progress, "STATUS_INTERVAL_S", 0.1)
    monkeypatch.setattr(choices, "of_the_paper", compute)
    assert status(["paper", "fixed-robust-routing", "--quick", "--out", str(tmp_path)]) == 130
    said = capsys.readouterr().err
    assert "computing paper: 0 s" in said
    assert said.endswith("Interrupted: finished runs are kept; the same command continues from there.\n")


@pytest.mark.slow("simulates a paper: hundreds of runs")
@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_quick_version_finds_what_is_expected(name: str, tmp_path: Path) -> None:
    """Verdicts are those stored, and numbers within tolerances that a regression would leave."""
    assert status(["paper", name, "--quick", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / name / "findings.json").read_text())
    expected = tomllib.loads((EXPECTED / f"{name}.toml").read_text())
    assert {claim["id"]: claim["verdict"] for claim in found["claims"]} == expected["claims"]
    numbers = {number["id"]: number["value"] for number in found["numbers"]}
    assert set(numbers) == set(expected["numbers"])
    strayed = {
        key: f"{numbers[key]} instead of {stored['value']} +- {stored['tolerance']}"
        for key, stored in expected["numbers"].items()
        if numbers[key] is None or abs(numbers[key] - stored["value"]) > stored["tolerance"]
    }
    assert strayed == {}
    assert f'<section id="{name}">' in (tmp_path / "index.html").read_text()
    written = tmp_path / name
    for markdown in written.glob("*.md"):
        for link in re.findall(r"\]\((\w[^):]*)\)", markdown.read_text(encoding="utf-8")):
            assert (written / link).is_file(), f"{markdown.name} links to {link}"


def test_each_paper_is_one_folder_with_data_and_code() -> None:
    papers = Path(registry.__file__).parent
    folders = {
        path.name for path in papers.iterdir() if path.is_dir() and path.name not in ("templates", "__pycache__")
    }
    assert folders == {registry.folder(name).name for name in registry.PAPERS}
    for folder in folders:
        for file in ("__init__.py", "about.md", "published.toml", "claims.toml", "scenarios", "README.md"):
            assert (papers / folder / file).exists(), f"{folder}/{file}"
    assert (ROOT / "papers").resolve() == papers, "the link at the top leads here"


def test_make_papers_copies_what_a_study_wrote_into_its_folder(tmp_path: Path) -> None:
    """The recipe's loop, with a study of each paper that wrote another README and no figure but one."""
    for name in registry.PAPERS:
        study, target = tmp_path / "runs" / "papers" / name, tmp_path / "papers" / registry.folder(name).name
        (study / "figures").mkdir(parents=True)
        (target / "figures").mkdir(parents=True)
        (target / "figures" / "old.svg").touch()
        (study / "README.md").write_text(name)
        (study / "figures" / "new.svg").touch()
    recipe = re.search(r"^papers:.*\n\t.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    subprocess.run(["sh", "-ec", recipe[1].replace("$$", "$")], cwd=tmp_path, check=True)
    for name in registry.PAPERS:
        target = tmp_path / "papers" / registry.folder(name).name
        assert (target / "README.md").read_text() == name
        assert [file.name for file in (target / "figures").iterdir()] == ["new.svg"]


@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_readme_has_ours_beside_every_published_number(name: str) -> None:
    """The README of the full run, in the repository: no published number without its sentence and ours, no figure without its file."""
    folder = registry.folder(name)
    text = (folder / "README.md").read_text()
    rows = [line.split(" | ") for line in text[text.index("## Numbers") :].splitlines() if line.startswith("| ")]
    cells = {(row[0].lstrip("| "), row[1]): row[2:4] for row in rows[2:]}
    for number in published.load(folder).values():
        theirs, ours = cells[number.where, number.what]
        assert theirs.startswith(f"{number.text()} "), number.id
        assert f". “{readme.verbatim(number.sentence)}”\n" in text, number.id
        assert ours not in ("", "–"), number.id
    assert sum(theirs != "–" for theirs, _ in cells.values()) == len(published.load(folder))
    figures = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert figures
    assert all((folder / figure).is_file() for figure in figures)


@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_readme_has_every_claim_in_the_words_of_its_file(name: str) -> None:
    """And no others; the code gives verdicts and values only."""
    folder = registry.folder(name)
    claims = {(claim["where"], claim["says"]): claim for claim in statements.load(folder).entries.values()}
    text = (folder / "README.md").read_text(encoding="utf-8").partition("## Claims")[2].partition("\n## ")[0]
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")][2:]
    folded = dict(re.findall(r"<details><summary>(.+)</summary>\n\n(.+)\n\n</details>", text))
    assert len(rows) == len(folded) == len(claims)
    for where, says, rule, verdict in rows:
        claim = claims[where, says]
        assert rule == claim["rule"]
        more = claim.get("remark", "" if verdict in ("**holds**", "**undecided**") else claim.get("reason", ""))
        judged = re.escape(f"**{verdict.strip('*')}.** ")
        said = f"{judged}{_pattern(claim['evidence'])}( {_pattern(more)})?"
        assert re.fullmatch(said, folded[escape(f"{where}: {says}")]), claim["id"]


def _pattern(template: str) -> str:
    """The regular expression of a text with any values."""
    return ".*".join(map(re.escape, re.split(r"\{[^{}]+\}", template)))


@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_readme_has_every_figure_of_the_tables(name: str) -> None:
    """In the words of the tables, and no others."""
    folder = registry.folder(name)
    package = f"anabranch.studies.papers.{folder.name}"
    modules = [import_module(f"{package}.{path.stem}") for path in folder.glob("*.py") if path.stem != "__init__"]
    tables = [value for module in modules for value in vars(module).values() if isinstance(value, tuple)]
    figures = {figure.id: figure for table in tables for figure in table if isinstance(figure, Figure)}
    text = (folder / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^### (.+)\n\n!\[\1\]\(figures/(.+)\.svg\)\n\n\*(.+)\*$", text, re.MULTILINE)
    assert {id for _, id, _ in shown} == figures.keys()
    for where, id, caption in shown:
        assert where == figures[id].where
        assert re.fullmatch(_pattern(figures[id].caption), caption), id


@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_readme_has_no_dead_link_and_no_latex(name: str) -> None:
    """Links lead to files beside the page, and to headings of it."""
    folder = registry.folder(name)
    text = (folder / "README.md").read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", line.strip("# ")).lower().replace(" ", "-")
        for line in re.findall(r"^#+ .*$", text, re.M)
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        found = (
            target[1:] in headings
            if target.startswith("#")
            else target.startswith("http") or (folder / target).exists()
        )
        assert found, target
    assert re.findall(r"\$|\\\\?(?:frac|sqrt|times|rightarrow|leq|neq)", text.replace("\\|", "")) == []


def test_claims_and_pictures_come_from_tables() -> None:
    """A sentence of a paper, or of ours about it, is in no module of a study."""
    folders = (registry.folder(name) for name in registry.PAPERS)
    assert [
        path
        for folder in folders
        for path in folder.rglob("*.py")
        if re.search(r"\b(Claim|Picture)\(", path.read_text())
    ] == []


@pytest.mark.parametrize("name", registry.PAPERS)
def test_scenarios_of_a_paper_have_no_problems(name: str) -> None:
    for path in sorted((registry.folder(name) / "scenarios").glob("*.toml")):
        Scenario.load(path)


def test_finished_runs_are_taken_from_where_they_are_kept(tmp_path: Path) -> None:
    """The second time nothing is simulated, and tables, series and manifest are the same, also at another place in the matrix."""
    text = LINE.replace('duration = "2s"', 'duration = "1s"\nsample = "100ms"\nseeds = 2')
    kept = KeptRuns(tmp_path / "kept")
    both = LINE.replace('stack = "newreno"', 'stack = ["cubic", "newreno"]').replace(
        'duration = "2s"', 'duration = "1s"\nsample = "100ms"\nseeds = 2'
    )
    (first,) = execute_all([RunPlan(Scenario.from_toml(text), tmp_path / "a")], kept=kept, show_progress=False)
    again, larger = execute_all(
        [RunPlan(Scenario.from_toml(text), tmp_path / "b"), RunPlan(Scenario.from_toml(both), tmp_path / "c")],
        kept=kept,
        make=_only_cubic,
        show_progress=False,
    )
    assert again.flows.equals(first.flows)
    assert again.links.equals(first.links)
    assert again.series_flows.sort("run", "time_s", "flow").equals(first.series_flows.sort("run", "time_s", "flow"))
    assert again.manifest["runs"] == first.manifest["runs"]
    newreno = [run["run"] for run in larger.manifest["runs"] if "newreno" in run["variant"].values()]
    assert newreno == [2, 3]
    own = larger.flows.filter(pl.col("run").is_in(newreno))
    assert own.select(first.flows.columns).drop("run").equals(first.flows.drop("run"))
    series = larger.series_flows.filter(pl.col("run").is_in(newreno)).select(first.series_flows.columns).drop("run")
    assert series.sort("time_s", "goodput_bps").equals(first.series_flows.drop("run").sort("time_s", "goodput_bps"))


def _only_cubic(spec: CompiledRun):
    from anabranch.engines import packet

    assert [stack["name"] for stack in spec["stacks"]] == ["cubic"], "this one was finished before"
    return packet.new_simulation(spec)


def test_an_interrupted_run_is_not_kept(tmp_path: Path) -> None:
    kept = KeptRuns(tmp_path / "kept")
    plan = RunPlan(Scenario.from_toml(LINE), tmp_path / "run")
    with pytest.raises(RuntimeError):
        execute_all([plan], kept=kept, make=_failing, show_progress=False)
    assert not any((tmp_path / "kept").glob("*"))
    assert not (tmp_path / "run").exists()


def _failing(spec: CompiledRun):
    raise RuntimeError("out of order")


def _toy(directory: Path) -> tuple[Lab, Findings]:
    folder = directory / "toy"
    folder.mkdir()
    (folder / "about.md").write_text("# A toy | paper\n\n## How we read it\n\nLiterally.\n")
    (folder / "published.toml").write_text(
        '[[passage]]\nwhere = "Table 1"\nsentence = "almost $20$ Mbps ... with 3 losses at most"\nnumbers = [\n'
        '{ id = "a", what = "goodput", unit = "Mbit/s", value = 20, said = "almost $20$" },\n'
        '{ id = "b", what = "losses", at_most = 3 },\n]\n'
    )
    place = Lab("toy", True, folder, directory / "out", published.load(folder))
    frame = pl.DataFrame({"x": [1.0, 2.0], "who": ["we", "we"], "mean": [1.0, 2.0], "half_width": [0.1, None]})
    chart = charts.lines(frame, x="x", colour="who", x_title="x", y_title="y", published=frame)
    findings = Findings(
        [Claim("c", "Figure 1", "It is fast.", "At least 20.", "holds partly", "19.5 ± 0.1 Mbit/s.", "Not | always.")],
        [Number("a", 19.5, 0.1), Number("ours", 1.0, what="one", where="Table 1")],
        [Picture("figure-1", "Figure 1", "Look.", chart)],
        [Table("t", "Table 2", "More.", ["x"], [["1"]])],
    )
    return place, findings


def test_a_readme_has_everything_and_the_page_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, findings = _toy(tmp_path)
    from anabranch.studies.papers import findings as documents

    documents.write(place, findings)
    readme.write(place, findings)
    text = (place.directory / "README.md").read_text()
    assert text.startswith("# A toy | paper\n")
    assert "| Figure 1 | It is fast. | At least 20. | **holds partly** |" in text
    assert (
        "<summary>Figure 1: It is fast.</summary>\n\n**holds partly.** 19.5 ± 0.1 Mbit/s. Not | always.\n\n</details>"
        in text
    )
    assert "| Table 1 | goodput | 20 Mbit/s (“almost 20”) [1] | 19.5 ± 0.1 Mbit/s |  |" in text
    assert "| Table 1 | one | – | 1.00 |  |" in text
    assert text.endswith("\n1. “almost 20 Mbps ... with 3 losses at most”\n\n</details>\n")
    document = documents.read(place.directory)
    assert document["not_measured"] == ["b"]
    assert document["numbers"][0]["sentence"] == "almost $20$ Mbps ... with 3 losses at most"
    monkeypatch.setattr(page, "PAPERS", ["out"])
    html = page.write(tmp_path).read_text()
    assert "data:image/svg+xml;base64," in html
    assert '<strong class="holds-partly">holds partly</strong>' in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing"], "Choose from"), (["mprc", "--seeds", "0"], "--seeds 0: must be at least 1")],
)
def test_wrong_usage_is_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["paper", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_is_kept_is_computed_once_by_a_build_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    for inputs in ([1], [1], [2]):
        assert lab.kept(tmp_path, "sum", inputs, lambda inputs=inputs: computed.append(inputs) or inputs) == inputs
    assert computed == [[1], [2]]
    monkeypatch.setattr(lab, "engine_build", lambda: "another")
    lab.kept(tmp_path, "sum", [2], lambda: computed.append([2]))
    assert computed == [[1], [2], [2]]


def test_means_and_intervals_over_seeds() -> None:
    """By hand: 1, 2, 3 has mean 2 and standard error 1/sqrt(3); Student's t for two degrees of freedom is 4.303."""
    frame = pl.DataFrame({"stack": ["a", "a", "a", "b"], "x": [1.0, 2.0, 3.0, 7.0]})
    table = measures.summary(frame, ["stack"], "x")
    assert table["mean"].to_list() == [2.0, 7.0]
    assert table["half_width"].to_list() == [pytest.approx(4.3027 / 3**0.5, rel=1e-4), None]


@pytest.mark.parametrize("name", ["", "runs", "runs/abilene", "finished", "kept", "figures"])
def test_a_study_follows_no_link_in_its_directory(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    link = out / "mprc" / name if name else out / "mprc"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert status(["paper", "mprc", "--quick", "--out", str(out)]) == 1
    assert f"{link}: cannot be written (it is a symbolic link, which is not followed)" in capsys.readouterr().err
    assert list(outside.iterdir()) == []

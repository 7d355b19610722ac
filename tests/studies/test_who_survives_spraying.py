"""The page of senders over sprayed paths: it says what its file has, the file is what the plan gives, and unfinished transfers are no values."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

from anabranch import Sweep
from bench.spraying import cells, page, verdict
from bench.spraying.__main__ import FILE, PAGE
from bench.spraying.tables import Column, Lead, of_columns

STORED = pl.read_csv(FILE)


def flow(stack: str, seed: int, size: int, fct_s: float | None, goodput_bps: float = 0.0) -> dict[str, object]:
    """A row of a sweep's flows: two equal paths without loss."""
    return {
        **{
            "paths": 2,
            "difference": 0.0,
            "loss": 0.0,
            "variant_routing": "random",
            "variant_stack": stack,
            "seed": seed,
        },
        **{"size_bytes": size, "stagger": 0.0 if size > 10**8 else 5.0, "fct_s": fct_s, "goodput_bps": goodput_bps},
        **{"segments_sent": 1000, "spurious_retransmits": 20, "reassembly_peak_bytes": 3000, "longest_stall_s": 0.25},
    }


def test_the_page_has_what_its_file_has() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for key, part in page.parts(STORED).items():
        assert f"<!-- generated: {key} -->\n\n{part}\n\n<!-- end: {key} -->" in text, (
            f"run python -m bench.spraying: {key}"
        )


def test_the_file_has_every_condition_and_no_unfinished_transfer() -> None:
    assert STORED.height == 3 * 2 * 3 * 2 * 15 == STORED.unique(cells.KEYS).height
    assert STORED["unfinished"].sum() == 0
    assert STORED.null_count().transpose()["column_0"].sum() == 0


def test_the_headlines_hold() -> None:
    """Each sentence in bold of the verdict, by the stored numbers."""
    goodput = {(*row[:4], row[4]): row[5] for row in STORED.select(*cells.KEYS, cells.GOODPUT).iter_rows()}
    assert max(goodput[key] for key in goodput if key[1] == "unequal" and key[4] in verdict.COUNTING) < 25
    lossless = {key: share for key, share in goodput.items() if key[2] == 0}
    assert min(share for key, share in lossless.items() if key[4] in ("linux-cubic", "linux-bbr")) > 50
    lossy = {key: share for key, share in goodput.items() if key[2] > 0}
    assert max(share for key, share in lossy.items() if key[4] in verdict.LOSS_BASED) < 65
    assert min(share for key, share in lossy.items() if key[4] in verdict.BBR) > 75
    four = [key for key in lossless if key[0] == 4 and key[1] == "unequal" and key[4] == "mprc"]
    assert all(goodput[key] > 1.2 * goodput[(*key[:4], "linux-cubic")] for key in four)
    for measure in (cells.TIMES["100 kB"], cells.TIMES["1 MB"]):
        lead = Lead.of(STORED, measure, "linux-cubic")
        assert lead.behind > lead.ahead
    window = Lead.of(STORED, cells.GOODPUT, "cubic-fast-rto")
    assert window.ahead == 0
    assert window.behind > 18


def test_a_small_part_of_the_plan_gives_the_stored_cells(tmp_path: Path) -> None:
    plan = tomllib.loads(cells.PLAN.read_text(encoding="utf-8"))
    two = [{key: [values[0], values[2]] for key, values in _flat(plan["conditions"].pop("zip")[0]).items()}]
    stacks = ["cubic-dup-ack", "linux-cubic", "mprc"]
    plan["treatments"] = {"traffic[0].stack": stacks, "traffic[0].routing": ["random"]}
    plan["conditions"] |= {
        "topology.generate.paths": [2],
        "topology.generate.difference": ["20ms"],
        "impairments[0].loss": [0.001],
        "zip": two,
    }
    flows = Sweep(plan, directory=cells.PLAN.parent).execute(tmp_path, jobs=1).flows
    again = cells.of_flows(flows).sort("stack")
    kept = STORED.filter(paths=2, delays="unequal", loss_percent=0.1, select="random").filter(
        pl.col("stack").is_in(stacks)
    )
    names = [name for name in again.columns if again[name].null_count() == 0]
    assert set(names) >= {cells.GOODPUT, cells.TIMES["100 kB"], *cells.COSTS}
    for row, stored in zip(again.iter_rows(named=True), kept.sort("stack").iter_rows(named=True), strict=True):
        for name in names:
            assert row[name] == stored[name], (row["stack"], name, "run python -m bench.spraying")


def _flat(table: dict[str, object], prefix: str = "") -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: list(value)}  # type: ignore[call-overload]
    return found


def test_an_unfinished_transfer_is_counted_and_is_no_value() -> None:
    rows = [flow("a", seed, 10_000, 0.1 * seed) for seed in (1, 2)] + [flow("a", seed, 100_000, 1.0) for seed in (1, 2)]
    (complete,) = cells.of_flows(pl.DataFrame(rows)).to_dicts()
    assert (complete["fct_10kB_ms"], complete["fct_100kB_ms"], complete["unfinished"]) == (150, 1000, 0)
    assert complete["fct_10kB_ms_95"] == pytest.approx(12.706 * 50, rel=1e-3), "Student's t with one degree of freedom"
    (cut,) = cells.of_flows(pl.DataFrame([*rows, flow("a", 2, 100_000, None)])).to_dicts()
    assert (cut["fct_10kB_ms"], cut["fct_100kB_ms"], cut["fct_100kB_ms_95"], cut["unfinished"]) == (150, None, None, 1)
    shown = of_columns(pl.DataFrame([cut | {"stack": name} for name in _stacks()]), [Column("x", "fct_100kB_ms", {})])
    assert shown.rows[0][2] == "–"


def _stacks() -> list[str]:
    return STORED["stack"].unique(maintain_order=True).to_list()


def test_the_long_flow_is_measured_apart_from_transfers() -> None:
    rows = [flow("a", 1, 10**9, None, 9e6), flow("a", 1, 10_000, 0.1, 5e6)]
    (cell,) = cells.of_flows(pl.DataFrame(rows)).to_dicts()
    assert cell["goodput_percent"] == pytest.approx(9e6 / (2 * 10e6 * 1460 / 1500) * 100, rel=1e-3)
    assert (cell["spurious_percent"], cell["reassembly_kB"], cell["stall_ms"], cell["unfinished"]) == (2, 3, 250, 0)


def test_transfers_that_overlap_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"1 transfers were not over when the next one started; raise stagger in detectors\.toml"
    ):
        cells.of_flows(pl.DataFrame([flow("a", 1, 10_000, 5.1)]))


def test_a_lead_within_the_interval_of_the_difference_is_level() -> None:
    """Of three conditions the first is decided, the second within the interval, the third below one per cent."""
    common = {"delays": "equal", "loss_percent": 0.0, "select": "random"}
    values = {2: (12.0, 10.0, 1.9), 3: (12.0, 10.0, 2.1), 4: (10.04, 10.0, 0.0)}
    for measure, sign in ((cells.GOODPUT, 1), (cells.TIMES["1 MB"], -1)):
        rows = [
            common | {"paths": paths, "stack": stack, measure: value, cells.apart(measure): width}
            for paths, (ours, theirs, width) in values.items()
            for stack, value in (("mprc", ours), ("other", theirs))
        ]
        lead = Lead.of(pl.DataFrame(rows), measure, "other")
        assert (lead.ahead, lead.level, lead.behind) == ((1, 2, 0) if sign > 0 else (0, 2, 1))
        assert (lead.typical, lead.spread) == (("+20 %", "0 % to +20 %") if sign > 0 else ("−17 %", "−17 % to 0 %"))


def test_differences_are_taken_seed_by_seed() -> None:
    """Two stacks that vary together differ by the same with every seed, which is certain."""
    rows = [
        flow(stack, seed, 10_000, 0.1 * seed + more) for stack, more in (("mprc", 0.0), ("b", 0.01)) for seed in (1, 2)
    ]
    row = cells.of_flows(pl.DataFrame(rows)).filter(stack="b").to_dicts()[0]
    assert row["fct_10kB_ms_95"] > 600
    assert row[cells.apart("fct_10kB_ms")] == pytest.approx(0, abs=1e-9)


def test_every_stack_of_the_plan_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    scenario = tomllib.loads(
        (cells.PLAN.parent / "../scenarios/who-survives-spraying.toml").read_text(encoding="utf-8")
    )
    assert set(_stacks()) == set(scenario["traffic"][0]["stack"])
    for stack in _stacks():
        assert re.search(rf"\| .*`{stack}`.* \|", text), f"{stack} has no definition"

"""Draws the README's picture from its scenario: ``python docs/images/abilene.py``."""

from pathlib import Path

import altair

from anabranch import Scenario
from anabranch.pages.report import chart
from anabranch.results import statistics

HERE = Path(__file__).parent
SCENARIO = HERE.parents[1] / "scenarios" / "abilene.toml"
STACKS = ["newreno-dup-ack", "cubic-dup-ack", "bbr-dup-ack", "linux-cubic", "linux-bbr", "mprc"]
ONE_PATH_BPS = 10e6 * 1460 / 1500
"""Payload per second of a 10 Mbit/s link, in packets of 1460 bytes and 40 bytes of headers."""


def main() -> None:
    """Run the scenario and write the picture beside this file."""
    flows = Scenario.load(SCENARIO).run().flows
    summary = statistics.summary(flows, ["stack", "routing"])
    bars = altair.Chart.from_dict(chart.goodput_bars(summary, x="routing", x_title="", stacks=STACKS))
    bounds = altair.Data(values=[{"bound": paths * ONE_PATH_BPS / 1e6, "text": text} for paths, text in
                                 ((1, "payload of one path"), (2, "payload of both paths"))])  # fmt: skip
    place = altair.X("bound:Q")
    rules = altair.Chart(bounds).mark_rule(strokeDash=[4, 4], color="#888").encode(x=place)
    words = (
        altair.Chart(bounds)
        .mark_text(align="right", dx=-6, color="#666")
        .encode(x=place, y=altair.value(7), text="text:N")
    )
    picture = (rules + bars + words).properties(width=760, height=330)
    picture.configure(background="white").configure_view(stroke=None).save(HERE / "abilene.svg")


if __name__ == "__main__":
    main()

"""The charts of a report, from polars frames, for a notebook as well.

Every function returns a Vega-Lite specification without configuration; in a notebook, ``altair.Chart.from_dict`` draws it. A stack has the
same colour in all charts, if they get the same list of stacks. Columns may have any name: a chart copies its columns to names of its
own, since Vega-Lite takes dots, brackets and colons in a field's name for a path.
"""

from anabranch.pages.report.chart.bars import are_upright, goodput_bars, height_of_bars, measure_bars
from anabranch.pages.report.chart.colours import DASHES, PALETTE, distinct_colours, stack_colour
from anabranch.pages.report.chart.empirical import distributions
from anabranch.pages.report.chart.load_map import link_map
from anabranch.pages.report.chart.measure import Measure, digits, interval, rate, seconds, three_digits, with_interval
from anabranch.pages.report.chart.over_time import link_estimates, link_time_series, time_series
from anabranch.pages.report.chart.ranges import delay_ranges
from anabranch.pages.report.chart.sizes import by_size
from anabranch.pages.report.chart.timeline import route_timeline
from anabranch.pages.report.chart.trade_off import pareto

__all__ = [
    "DASHES",
    "PALETTE",
    "Measure",
    "are_upright",
    "by_size",
    "delay_ranges",
    "digits",
    "distinct_colours",
    "distributions",
    "goodput_bars",
    "height_of_bars",
    "interval",
    "link_estimates",
    "link_map",
    "link_time_series",
    "measure_bars",
    "pareto",
    "rate",
    "route_timeline",
    "seconds",
    "stack_colour",
    "three_digits",
    "time_series",
    "with_interval",
]

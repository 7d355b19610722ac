"""The help of ``anabranch`` itself: its commands with a sentence each, as plain text.

The library that draws the help of a command takes five times as long to import as this text takes to print.
"""

import os
import textwrap

PURPOSE = "Finds, predicts and proves the best way to carry TCP over a network."
INSTALL_COMPLETION = "--install-completion"
COMMANDS = {
    "advise": "Find the routes, the forwarding and the TCP stack that carry the traffic of a network best.",
    "check": "Check a scenario: every problem at once, with file, line, field, value, and what would be right.",
    "compare": "Run a scenario by several engines, and compare them flow by flow and link by link.",
    "congestion-control": "Congestion controls in eBPF: new, replay; in the running Linux: check, load, unload, list, trace.",
    "controller": "Control a network on this machine as a scenario says: measure links, and route by what is measured.",
    "doctor": "List which features work on this machine, and how to install the others.",
    "drill": "Run scripts in packetdrill's language against the simulated sender and receiver.",
    "export": "Write the tables of a run directory as CSV files, or its flows for other tools.",
    "figure": "Draw a figure of the report into a file for a paper; without --output, list the figures.",
    "init": "Write a commented scenario to start from, an example, a plan of a sweep or a notebook; without a name, list them.",
    "paper": "Reproduce a paper: its figures and tables, its numbers beside ours, and a verdict for each claim.",
    "plan": "Find the routing with the most TCP throughput whose worst-case load is allowed: single paths wherever they fit.",
    "predict": "Predict the rate of one TCP flow from round-trip time and loss, by all models, with their ranges of validity.",
    "replay": "Play the packets of a short span of a run: they move along the map, queues fill, drops flash.",
    "report": "Write one self-contained HTML report of one or several run directories, or directories of sweeps.",
    "robust": "Minimise the maximum link utilisation over all matrices of a traffic model, by splitting each pair's traffic over paths.",
    "routes": "Find routes by a metric, or compare metrics; by default by delay x sqrt(loss), that is, for the most TCP throughput.",
    "run": "Run a scenario: all variants of its matrix with all seeds, into a run directory with a report.",
    "schema": 'Print the JSON Schema of scenarios; begin a scenario with "#:schema FILE" to have an editor use it.',
    "study": "Compare transports and path selectors on a leaf-spine: TCP, MPRC and Ultra Ethernet, sprayed or not.",
    "sweep": "Run a plan: a scenario over many values, with every seed, on all cores or many machines; if it was interrupted, the same command continues it.",
    "testbed": "Measure TCP over Open vSwitch on this machine: Linux's CUBIC over the paths of metrics, beside the packet engine.",
    "topology": "Topologies by name or from a file: list, show, plot.",
    "weights": "Find OSPF weights that make the greatest link utilisation small, with equal-cost multipath.",
}
"""Each command, with the first sentence of its help."""
_OPTIONS = {
    "--help, -h": "Show this help; after a command, the help of that command.",
    INSTALL_COMPLETION: "Have the shell complete commands, options and names of topologies, formats and figures.",
    "--version": "Show the version.",
}
_INDENT = 2 + max(map(len, [*COMMANDS, *_OPTIONS])) + 2
_WIDEST = 100


def overview() -> str:
    """The text, as wide as the terminal."""
    try:
        width = min(os.get_terminal_size().columns, _WIDEST)
    except OSError:  # the output is no terminal
        width = 80
    parts = ("Commands:", *_lines(COMMANDS, width), "", "Options:", *_lines(_OPTIONS, width))
    return "\n".join(("Usage: anabranch COMMAND", "", PURPOSE, "", *parts))


def _lines(sentences: dict[str, str], width: int) -> list[str]:
    width = max(width, _INDENT + 20)
    return [
        textwrap.fill(sentence, width, initial_indent=f"  {name}".ljust(_INDENT), subsequent_indent=" " * _INDENT)
        for name, sentence in sentences.items()
    ]

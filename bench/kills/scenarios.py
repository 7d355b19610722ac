"""A scenario whose runs take some milliseconds: two stacks over a line of three nodes, with series and a capture."""

SMALL = """
title = "{title}"
capture = [["A", "B"]]

[topology]
links = [
  {{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }},
  {{ source = "B", target = "C", capacity = "10Mbps", delay = "5ms" }},
]

[stacks]
newreno = {{ preset = "newreno" }}
cubic = {{ preset = "cubic" }}

[[traffic]]
from = "A"
to = "C"
size = "{segments} kB"
stack = ["newreno", "cubic"]

[run]
duration = "2s"
seeds = {seeds}
sample = "50ms"
"""

"""Traffic by iperf3 instead of the engine's own sender.

``flows.py`` has the commands of each flow, or refuses its traffic group. ``processes.py`` runs them. ``report.py`` reads what they measure.
"""

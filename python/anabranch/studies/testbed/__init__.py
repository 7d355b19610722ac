"""TCP throughput of some pairs of a network, live on this machine, beside the packet engine over the same paths.

``network.py`` reads the network and draws its values. ``tests.py`` says what is to be measured, and keeps what has been. ``live.py`` is the
live network (:mod:`anabranch.engines.openflow`), ``measuring.py`` a measurement within a time. ``simulated.py`` asks the packet engine. ``answer.py`` puts both side
by side.
"""

"""A live network: Linux's TCP over Open vSwitch, Linux routers or FRR, with a controller that measures links and installs routes.

| task | file |
|---|---|
| addresses, ports and rates that all parts share | ``plan.py`` |
| cables between switches, as a scenario | ``cabling.py`` |
| Open vSwitch in user space | ``switches.py`` |
| hosts with Linux's TCP, and their iperf3 | ``hosts.py`` |
| random packets between neighbours, which switches count | ``probes.py`` |
| STAMP: its packets, and its senders and reflectors in the hosts | ``stamp.py``, ``agents.py`` |
| link state: samples, their moving average, and intervals | ``link_state.py`` |
| the paths of metrics, and when a route changes | ``routes.py``, ``hysteresis.py`` |
| samples and routes, for every kind of controller | ``computation.py`` |
| the rules of the switches | ``rules.py`` |
| the controller of switches, a separate program (os-ken) | ``controller.py`` |
| the tables of routers | ``table_routes.py`` |
| routers of Linux and of FRR, and their controller | ``routers.py``, ``router_control.py`` |
| delays and losses that routers advertise | ``igp.py`` |
| a directory that ends with this process | ``scratch.py`` |
| the whole network | ``lab.py`` |

It needs root and iperf3; switches need Open vSwitch and os-ken, and FRR's routers FRR. Whatever happens to this process, it leaves nothing behind.
"""

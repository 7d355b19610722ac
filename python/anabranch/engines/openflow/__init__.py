"""A live network: Linux's TCP over Open vSwitch, with an OpenFlow controller that measures links and installs routes.

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
| the rules of the switches | ``rules.py`` |
| the controller, a separate program (os-ken) | ``controller.py`` |
| a directory that ends with this process | ``scratch.py`` |
| the whole network | ``lab.py`` |

It needs root, Open vSwitch, iperf3 and os-ken. Whatever happens to this process, it leaves nothing behind.
"""

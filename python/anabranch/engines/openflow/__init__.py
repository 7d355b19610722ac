"""A live network: Linux's TCP over Open vSwitch, with an OpenFlow controller that measures links and installs routes.

| task | file |
|---|---|
| addresses, ports and rates that all parts share | ``plan.py`` |
| Open vSwitch in user space | ``switches.py`` |
| hosts with Linux's TCP, and their iperf3 | ``hosts.py`` |
| random packets between neighbours | ``probes.py`` |
| link state: samples and their moving average | ``link_state.py`` |
| the rules of the switches | ``rules.py`` |
| the controller, a separate program (os-ken) | ``controller.py`` |
| a directory that ends with this process | ``scratch.py`` |
| the whole network | ``lab.py`` |

It needs root, Open vSwitch, iperf3 and os-ken. Whatever happens to this process, it leaves nothing behind.
"""

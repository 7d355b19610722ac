"""The testbed of TCPBP, live: Linux's TCP over Open vSwitch, with an OpenFlow controller that measures links and installs routes.

| task | file |
|---|---|
| addresses, ports and rates that all parts share | ``plan.py`` |
| cables between switches, as a scenario | ``cabling.py`` |
| Open vSwitch in user space | ``switches.py`` |
| hosts with Linux's CUBIC, and their iperf3 | ``hosts.py`` |
| random packets between neighbours | ``probes.py`` |
| link state: samples and their moving average | ``link_state.py`` |
| the controller, a separate program (os-ken) | ``controller.py`` |
| the whole testbed | ``lab.py`` |
| the rules of the switches | ``rules.py`` |
| tests, their results, and the page | ``measuring.py``, ``page.py``, ``__main__.py`` |

``make testbed`` needs root, Open vSwitch and iperf3.
"""

"""The kernel engine: Linux's own TCP in network namespaces, over the packet engine's network in real time.

``settings.py`` translates a stack into sysctls, routes and socket options, or refuses it. ``hosts.py`` makes a namespace for each host. ``programs.py``
loads congestion controls. ``simulation.py`` is a run, with the methods of the packet engine's. The Rust crate ``anabranch-emulator`` moves the
packets and has the applications.
"""

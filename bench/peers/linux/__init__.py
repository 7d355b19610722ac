"""Real Linux TCP in virtual time: bulk flows between two hosts of one guest, over a network that we emulate.

The guest's program (init.c) makes two network namespaces, each with a TUN device, and carries every packet between them through
links with a rate, a delay, a queue and losses (network.c). Time is virtual, so that results do not depend on the
machine and are the same each time. `kernel` builds the kernel, `case` says what to run, `runs` runs it.
"""

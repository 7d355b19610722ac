"""Pages for a browser: the report, the replay of packets, and the live view of a run.

May use ``results`` and what that uses.
"""

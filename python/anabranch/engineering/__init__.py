"""Traffic engineering without packets: routes, robust splits, plans, and formulas for the rate of TCP.

May use ``network`` and what that uses.
"""

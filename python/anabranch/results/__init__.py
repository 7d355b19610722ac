"""What runs give: results and their tables, CSV, statistics, comparisons, captures, and the reader of run directories.

May use ``scenario`` and what that uses.
"""

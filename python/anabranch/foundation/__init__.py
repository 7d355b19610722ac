"""What every room may need: units, files, locks, progress, interrupts, tables of text, optional packages, and the search for misspelt names.

May use nothing else of the package but its compiled core.
"""

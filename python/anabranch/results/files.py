"""The files of a run directory."""

import polars as pl

MANIFEST = "manifest.json"
REPORT = "report.html"
SERIES = "series"
"""The folder of the time series."""
COMPLETE = "complete"
"""The status of a run that was not cut short."""

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What polars raises for a file that is no table."""

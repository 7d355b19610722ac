"""Extras: packages that the base installation leaves out, what each group of them enables, and the error without it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True, slots=True)
class Extra:
    """Packages that ``pip install 'anabranch[NAME]'`` adds."""

    enables: str
    modules: tuple[str, ...]
    """Names by which Python imports the packages."""


EXTRAS = {
    "figures": Extra("charts as SVG, PNG and PDF; papers", ("altair", "vl_convert")),
    "te": Extra("linear programs of `robust` and `plan`; papers", ("highspy",)),
    "topologies": Extra("TopoHub's 707 topologies; papers", ("topohub",)),
    "notebook": Extra("Jupyter, and tables for pandas", ("altair", "jupyterlab", "pandas", "pyarrow")),
    "cluster": Extra("Dask, for many machines", ("distributed", "dask_jobqueue")),
    "openflow": Extra("`testbed` and `controller`", ("os_ken",)),
}


class MissingExtraError(ImportError, ValueError):
    """A feature's packages are not installed; says which ones, and the command that installs them."""


def command(*names: str) -> str:
    """The command that installs extras."""
    return f"pip install 'anabranch[{','.join(names)}]'"


def missing(name: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [module for module in EXTRAS[name].modules if find_spec(module) is None]


def require(purpose: str, *names: str) -> None:
    """Check before a long computation that extras are installed.

    Raises:
        MissingExtraError: some are not.
    """
    absent = [name for name in names if missing(name)]
    if absent:
        modules = dict.fromkeys(module for name in absent for module in missing(name))
        raise _error(purpose, list(modules), *absent)


@contextmanager
def needed(purpose: str, name: str) -> Iterator[None]:
    """Around the import of an extra's modules: a missing one becomes the error that says how to install it.

    Raises:
        MissingExtraError: a module of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS[name].modules:
            raise
        raise _error(purpose, [error.name], name) from None


def _error(purpose: str, modules: list[str], *names: str) -> MissingExtraError:
    verb = "are" if len(modules) > 1 else "is"
    return MissingExtraError(f"{purpose}: {' and '.join(modules)} {verb} not installed; run: {command(*names)}")

"""The packages hang together: no name hides a module."""

import pkgutil
from importlib import import_module
from types import ModuleType

import anabranch


def test_no_function_hides_the_module_of_its_name() -> None:
    """The value of ``package.name`` does not depend on the modules that were imported before."""
    names = [found.name for found in pkgutil.walk_packages(anabranch.__path__, "anabranch.")]
    for name in names:
        import_module(name)
    hidden = [
        name
        for name in names
        if not isinstance(getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]), ModuleType)
    ]
    assert hidden == []

"""What holds for all tests."""

import pytest
from hypothesis import settings

settings.register_profile("anabranch", deadline=None)  # no test depends on how fast the machine is
settings.load_profile("anabranch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A slow test says why it is."""
    for item in items:
        for mark in item.iter_markers("slow"):
            if not mark.args:
                raise pytest.UsageError(f'{item.nodeid}: give the reason, as in @pytest.mark.slow("compiles the core")')

"""A folder for the daemons of a test, whose daemons are gone when it ends."""

import tempfile

import pytest
from plug_daemons import end_daemons


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="plug-") as path:
        yield path
        end_daemons(path)


@pytest.fixture(scope="session")
def lasting_folder():
    with tempfile.TemporaryDirectory(prefix="plug-") as path:
        yield path
        end_daemons(path)

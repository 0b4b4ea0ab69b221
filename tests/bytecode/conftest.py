"""The decoder's and encoder's test API."""

import pytest

from numlift._core import bytecode


def pytest_configure(config):
    config.addinivalue_line("markers", "stdlib_share(n): one quarter of the whole standard library")


@pytest.fixture
def core():
    return bytecode

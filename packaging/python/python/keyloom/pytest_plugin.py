"""Fixtures of pytest: `keyloom_server`, one for the run, and `keyloom_fork`, one for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyloom.testing import Fork, Server


@pytest.fixture(scope="session")
def keyloom_server() -> Iterator[Server]:
    """A server in memory. Load into it what all tests share."""
    with Server() as server:
        yield server


@pytest.fixture
def keyloom_fork(keyloom_server: Server) -> Iterator[Fork]:
    """A fork of what `keyloom_server` holds when the test begins."""
    with keyloom_server.fork() as fork:
        yield fork

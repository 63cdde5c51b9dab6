"""A running broker for the tests that need one, and a healthy one after every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brokertrial.reference_impl import bugs
from tests.reference_impl.brokers import BrokerProcess


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One healthy broker for all tests that leave it as it was."""
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as process:
        yield process


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """Starts brokers of the test's own, with arguments."""
    started: list[BrokerProcess] = []

    def start(*arguments: str) -> BrokerProcess:
        process = BrokerProcess(tmp_path / f"data{len(started)}", *arguments)
        started.append(process)
        process.start()
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture(autouse=True)
def _healthy_again() -> Iterator[None]:
    yield
    bugs.clear()

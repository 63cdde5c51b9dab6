"""Something else listens where a broker was expected: the run says what, and ends with 7.

That it takes less than 15 s is measured in tests/targets/test_bootstrap.py, without the start of an interpreter."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.wire.ports import free_ports
from tests.e2e.failure_modes.runs import brokertrial, one_line
from tests.targets.impostors import endless, http_by_lines, listening, silent, tls

pytestmark = pytest.mark.long

Converse = Callable[[socket.socket], None]
NEVER_READY = 7


@pytest.mark.parametrize(
    ("converse", "words"),
    [
        pytest.param(http_by_lines, "is an HTTP server, not Kafka.", id="http"),
        pytest.param(tls, "speaks TLS; only plaintext listeners are supported.", id="tls"),
        pytest.param(endless, "is no Kafka broker: it answers b'xxxx", id="an-endless-stream"),
    ],
)
def test_a_server_that_is_no_kafka_is_named(converse: Converse, words: str, tmp_path: Path) -> None:
    with listening(converse) as address:
        done = brokertrial(tmp_path, "run", "--target", f"bootstrap:{address}")
    assert done.returncode == NEVER_READY, done.stdout + done.stderr
    assert f"{address} {words}" in one_line(done)


def test_silent_addresses_are_all_named(tmp_path: Path) -> None:
    with listening(silent) as one, listening(silent) as two, listening(silent) as three:
        done = brokertrial(tmp_path, "run", "--target", f"bootstrap:{one},{two},{three}")
    assert done.returncode == NEVER_READY, done.stdout + done.stderr
    for address in (one, two, three):
        assert f"{address} accepts connections but does not respond within 4 s" in one_line(done)


def test_nobody_listens(tmp_path: Path) -> None:
    address = ",".join(f"127.0.0.1:{port}" for port in free_ports(3))
    done = brokertrial(tmp_path, "run", "--target", f"bootstrap:{address}")
    assert done.returncode == NEVER_READY, done.stdout + done.stderr
    assert "did not answer within 5 s" in one_line(done)

"""A cluster of which only an address is known, and the strangers that may listen there instead."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.suites.targets import TargetNotReady, bootstrap, open_target, protocol_sniffer
from brokertrial.wire.ports import free_ports
from tests.targets.conftest import MakeTarget
from tests.targets.impostors import chatty, closing, endless, garbage, http, http_by_lines, listening, silent, tls

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_LOOK_FOR_S", 0.5)
    monkeypatch.setattr(protocol_sniffer, "_PATIENCE_S", 0.5)
    monkeypatch.setattr(protocol_sniffer, "_MORE_PATIENCE_S", 1.0)


@pytest.mark.parametrize(
    ("converse", "words"),
    [
        (http, "is an HTTP server, not Kafka"),
        (http_by_lines, "is an HTTP server, not Kafka"),
        (garbage, "is no Kafka broker: it answers b'\\xff\\xfe\\xfd"),
        (endless, "is no Kafka broker: it answers b'xxxx"),
        (chatty, "is no Kafka broker: it answers b'220 mail.example"),
        (closing, "closes the connection on a Kafka request"),
        (silent, "does not respond within 0.5 s; not a Kafka listener?"),
        (tls, "speaks TLS; only plaintext listeners are supported"),
    ],
)
def test_a_stranger_is_named_at_once(converse: Callable[[socket.socket], None], words: str, tmp_path: Path) -> None:
    with listening(converse) as address, pytest.raises(TargetNotReady) as refused:
        open_target(f"bootstrap:{address}", tmp_path).start()
    assert words in str(refused.value) and address in str(refused.value)
    assert refused.value.exit_status == 7


def test_strangers_are_named_together_and_a_broker_among_them_is_enough(
    file_target: MakeTarget, tmp_path: Path
) -> None:
    with listening(silent) as mute, listening(http) as web:
        with pytest.raises(TargetNotReady) as refused:
            open_target(f"bootstrap:{mute},{web}", tmp_path / "one").start()
        assert f"{mute} accepts connections but does not respond" in str(refused.value)
        assert f"{web} is an HTTP server" in str(refused.value)
        with file_target() as theirs, open_target(f"bootstrap:{mute},{theirs.bootstrap}", tmp_path / "two") as target:
            assert target.alive()


def test_nobody_there_is_said_within_15_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(bootstrap, "_LOOK_FOR_S", 2.0)
    port = free_ports(1)[0]
    begun = time.monotonic()
    with pytest.raises(TargetNotReady, match=r"did not answer within 2 s: .*cannot connect") as refused:
        open_target(f"bootstrap:127.0.0.1:{port}", tmp_path).start()
    assert time.monotonic() - begun < 15 and refused.value.exit_status == 7


def test_several_silent_addresses_are_said_within_15_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with listening(silent) as one, listening(silent) as two, listening(silent) as three:
        begun = time.monotonic()
        with pytest.raises(TargetNotReady, match="does not respond within 4 s"):
            open_target(f"bootstrap:{one},{two},{three}", tmp_path).start()
        assert time.monotonic() - begun < 12  # which leaves three for the start of the command


def test_a_name_that_does_not_resolve_is_said(tmp_path: Path) -> None:
    with pytest.raises(TargetNotReady, match=r"nowhere\.invalid"):
        open_target("bootstrap:nowhere.invalid:9092", tmp_path).start()


def test_a_login_is_recognised(tmp_path: Path) -> None:
    from brokertrial.wire.frames import decode_request, encode_response
    from tests.targets.tiny_broker import answer

    def wants_sasl(connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                header, _ = decode_request(stream.read(int.from_bytes(size, "big")))
                if header.api_key != 18:
                    return
                message = answer("ApiVersions", [])
                connection.sendall(encode_response(message, header.api_version, header.correlation_id))

    with listening(wants_sasl) as address, pytest.raises(TargetNotReady, match=r"probably requires SASL"):
        open_target(f"bootstrap:{address}", tmp_path).start()


def test_a_broker_of_somebody_else_is_only_asked(file_target: MakeTarget, tmp_path: Path) -> None:
    dead = free_ports(1)[0]
    with file_target() as theirs:
        with open_target(f"bootstrap:127.0.0.1:{dead},{theirs.bootstrap}", tmp_path / "ours") as target:
            assert target.alive() and target.nodes == {} and target.claims == {}
            assert target.version() == "not stated"
            assert "started" not in target.capabilities and "kill" not in target.capabilities
            target.recover()
        assert theirs.alive()
        theirs.stop()
        assert not target.alive()

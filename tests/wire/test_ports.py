"""Ports that nobody listens on, nor is given for an outgoing connection."""

import socket
from pathlib import Path

from brokertrial.wire.ports import free_ports, is_free


def test_free_ports_are_free_different_and_below_those_of_clients() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20 and all(is_free(port) for port in ports)
    lowest_of_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(ports) < lowest_of_clients


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not is_free(taken.getsockname()[1])

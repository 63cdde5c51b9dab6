"""Addresses as users and brokers write them: `host:port`, several with commas between them, IPv6 hosts in brackets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

HIGHEST_PORT = 65_535


def parsed(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`; ValueError says what is wrong."""
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) <= HIGHEST_PORT:
        raise ValueError(f"{text.strip()!r} is not an address of the form host:port.")
    return host, int(port)


def all_parsed(text: str) -> list[tuple[str, int]]:
    """The addresses of `host:port,host:port`; ValueError names the first that is none."""
    return [parsed(part) for part in text.split(",")]


def written(host: str, port: int) -> str:
    """An address as text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def all_written(addresses: Iterable[tuple[str, int]]) -> str:
    """Addresses as text with commas, as clients take them for `bootstrap.servers`."""
    return ",".join(written(*address) for address in addresses)


def reached(host: str, port: int, table: Mapping[str, str]) -> tuple[str, int]:
    """Where an advertised address really is, by a table of `host:port` or `host` to either; else as advertised."""
    where = table.get(written(host, port)) or table.get(f"{host}:{port}") or table.get(host)
    if where is None:
        return host, port
    try:
        return parsed(where)
    except ValueError:
        return where, port

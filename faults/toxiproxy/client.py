"""One Toxiproxy server, driven by toxiproxy-python. Each call has a deadline, and each change is read back.

The library passes no timeout, takes a 500 for success, and a misspelt attribute is a toxic that does nothing: what is
not seen in the answer to a GET of our own did not happen.
"""

import re
import threading
from collections.abc import Callable
from typing import Any

import requests
from toxiproxy import Toxiproxy as Library
from toxiproxy import api, exceptions
from toxiproxy.proxy import Proxy

from brokertrial.faults.toxiproxy.toxic import Toxic, ToxiproxyFailed
from brokertrial.wire.addresses import parsed, written

CALL_WITHIN_S = 5.0
PROBLEMS = (requests.RequestException, exceptions.InvalidToxic, exceptions.NotFound, exceptions.ProxyExists)
PROXY_METRICS = "toxiproxy_proxy_received_bytes_total"
_library = threading.Lock()
"""toxiproxy-python keeps the address of the server in a class: one call at a time."""


class _WithDeadline:
    """What toxiproxy-python finds under the name of the module `requests`."""

    def __getattr__(self, method: str) -> Callable[..., requests.Response]:
        def call(**words: Any) -> requests.Response:
            answer = requests.request(method, timeout=CALL_WITHIN_S, **words)
            if answer.status_code >= 500:
                answer.raise_for_status()
            return answer

        return call


api.requests = _WithDeadline()


class Toxiproxy:
    """A server at an address. Every call raises ToxiproxyFailed where it did not work within five seconds."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    @property
    def address(self) -> str:
        """Where its control port is."""
        return written(self.host, self.port)

    def version(self) -> str:
        """What it says that it is; `git` where it was built without a release's flags."""
        try:
            return str(self._get("/version").json()["version"])
        except (ValueError, KeyError, TypeError):
            raise ToxiproxyFailed(f"what answers at {self.address} is no Toxiproxy of 2.7 or newer") from None

    def proxies(self) -> dict[str, dict[str, Any]]:
        """Every proxy of the server by name, with its toxics, as it is now."""
        try:
            told: dict[str, dict[str, Any]] = self._get("/proxies").json()
        except ValueError as problem:
            raise ToxiproxyFailed(f"Toxiproxy at {self.address} answered no JSON: {problem}") from None
        return told

    def create(self, name: str, upstream: tuple[str, int], listen: tuple[str, int]) -> tuple[str, int]:
        """A proxy in front of an address; where it listens (port 0: one that it chooses)."""
        host, port = listen
        self._call(lambda: Library().create(written(*upstream), name, f"{host}:{port}"), f"make a proxy for {upstream}")
        made = self._proxy(name)
        place = host, parsed(made["listen"])[1]
        as_asked = made["enabled"] and made["upstream"] == written(*upstream) and port in (0, place[1])
        self._must(bool(as_asked), f"proxy {name} is {made}")
        return place

    def remove(self, name: str) -> None:
        """Takes a proxy away, with its toxics and every connection through it.

        This is how toxics are taken away: the server deletes one alone only after it has handed on what that holds, and
        waits for readers who do not read, with its control port locked, sometimes for good.
        """
        self._call(lambda: self._library_proxy(name).destroy(), f"remove proxy {name}")
        self._must(name not in self.proxies(), f"proxy {name} is still there")

    def add(self, name: str, toxics: dict[str, Toxic]) -> None:
        """Puts toxics on a proxy, under names; those on it already stay."""
        for toxic_name, toxic in toxics.items():
            words = {"type": toxic.type, "stream": toxic.stream, "attributes": dict(toxic.attributes)}
            self._call(
                lambda words=words, toxic_name=toxic_name: self._library_proxy(name).add_toxic(  # type: ignore[misc]
                    name=toxic_name, toxicity=1.0, **words
                ),
                f"add {toxic.type} to proxy {name}",
            )
        seen = {each["name"]: each for each in self._proxy(name)["toxics"]}
        for toxic_name, toxic in toxics.items():
            self._must(
                _is(seen.get(toxic_name), toxic), f"{toxic.type} was set on {name}, and is {seen.get(toxic_name)}"
            )

    def ended_bytes(self) -> dict[str, int]:
        """Bytes of connections that have ended, by proxy; raises where the server was started without -proxy-metrics
        and at least one connection has ended."""
        counted: dict[str, int] = {}
        for line in self._get("/metrics").text.splitlines():
            found = re.match(rf'{PROXY_METRICS}{{.*\bproxy="([^"]*)".*}} (\S+)', line)
            if found:
                counted[found[1]] = counted.get(found[1], 0) + int(float(found[2]))
        return counted

    def _get(self, path: str) -> requests.Response:
        try:
            answer = requests.get(f"http://{self.address}{path}", timeout=CALL_WITHIN_S)
            answer.raise_for_status()
        except requests.RequestException as problem:
            raise ToxiproxyFailed(self._silent(f"GET {path}", problem)) from problem
        return answer

    def _proxy(self, name: str) -> dict[str, Any]:
        try:
            return self.proxies()[name]
        except KeyError:
            raise ToxiproxyFailed(f"Toxiproxy at {self.address} has no proxy {name}") from None

    @staticmethod
    def _library_proxy(name: str) -> Proxy:
        return Proxy(name=name, upstream="", enabled=True, listen="")

    def _call(self, act: Callable[[], Any], what: str) -> None:
        with _library:
            Library().update_api_consumer(f"[{self.host}]" if ":" in self.host else self.host, self.port)
            try:
                act()
            except PROBLEMS as problem:
                raise ToxiproxyFailed(self._silent(what, problem)) from problem
            except (ValueError, KeyError) as problem:  # the library met an answer that it cannot read
                raise ToxiproxyFailed(f"Toxiproxy at {self.address} could not {what}: {problem!r}") from problem

    def _silent(self, what: str, problem: Exception) -> str:
        if isinstance(problem, requests.Timeout):
            return f"Toxiproxy at {self.address} did not answer within {CALL_WITHIN_S:g} s ({what})"
        return f"Toxiproxy at {self.address} refused ({what}): {_said(problem)}"

    def _must(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise ToxiproxyFailed(f"Toxiproxy at {self.address}: {otherwise}")


def _said(problem: Exception) -> str:
    """The server's own words, where the library hands them on."""
    words = problem.args[0] if problem.args else ""
    found = re.search(rb'"error": ?"([^"]*)"', words) if isinstance(words, bytes) else None
    return found[1].decode(errors="replace") if found else str(problem)


def _is(seen: dict[str, Any] | None, toxic: Toxic) -> bool:
    if seen is None or (seen["type"], seen["stream"], seen["toxicity"]) != (toxic.type, toxic.stream, 1):
        return False
    return all(seen["attributes"].get(key) == value for key, value in toxic.attributes.items())

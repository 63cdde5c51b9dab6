"""The windows that are open now, and which of them concern a message."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from brokertrial.faults.kind import MessageFault
from brokertrial.faults.kinds import fault_of
from brokertrial.faults.match import ClusterState, Match, body_matches, client_test, node_test
from brokertrial.faults.proxy.exchange import ProxiedRequest
from brokertrial.faults.schedule import BadSchedule, Window
from brokertrial.wire import apis

Draws = tuple[int, tuple[object, ...]]
"""What names a stream of random numbers: the seed; the window, and which of its messages this is."""


class CompiledMatch:
    """A compiled `Match`: cheap conditions first, the request's body only when it must be."""

    def __init__(self, match: Match, facts: ClusterState) -> None:
        self.keys = frozenset(apis.by_name(name).key for name in match.api)
        self._match = match
        self._facts = facts
        self._client = client_test(match.client)
        self._node = node_test(match.node)
        self._body = match.needs_body()

    def header(self, client: str, node: int, key: int) -> bool:
        """Whether client, node and API are those that the match asks for."""
        return (not self.keys or key in self.keys) and bool(self._client(client)) and self._node(node, self._facts)

    def whole(self, request: ProxiedRequest) -> bool:
        """Whether the request matches in every respect."""
        if not self.header(request.client, request.node, request.key):
            return False
        if not self._body:
            return True
        body = request.body_if_readable()
        return body is not None and body_matches(self._match, body, self._facts)


class ActiveFault:
    """One window at work: what it matched, picked and hit so far."""

    def __init__(self, window: Window, facts: ClusterState, seed: int, on_hit: Callable[[str], None]) -> None:
        fault = fault_of(window)
        if not isinstance(fault, MessageFault):
            raise BadSchedule(f"fault {window.id!r}: {window.kind} is done to a node, not to messages.")
        self.window = window
        self.fault = fault
        self.match = window.match or Match()
        self.test = CompiledMatch(self.match, facts)
        self.ended = False
        self.seen = 0
        self.picked = 0
        self.hits = 0
        self._seed = seed
        self._on_hit = on_hit
        self._ordinals: Counter[tuple[str, int, int, int]] = Counter()

    def picks(self, request: ProxiedRequest) -> Draws | None:
        """The random numbers for this request, which matches, if it is one to disturb."""
        self.seen += 1
        match = self.match
        if not match.picks(self.seen) or (match.count is not None and self.picked >= match.count):
            return None
        place = (request.client, request.node, request.connection, request.key)
        self._ordinals[place] += 1
        self.picked += 1
        return self._seed, (self.window.id, *place, self._ordinals[place])

    def hit(self) -> int:
        """Counts one bite; which one it was."""
        self.hits += 1
        if self.hits == 1:
            self._on_hit(self.window.id)
        return self.hits

    def missed(self) -> None:
        """What was picked was not bitten after all: another may be in its stead."""
        self.picked -= 1


class MessageTrigger:
    """Waits for the n-th request that matches, then calls back, once."""

    def __init__(self, match: Match, n: int, facts: ClusterState, reached: Callable[[], object]) -> None:
        self.test = CompiledMatch(match, facts)
        self._match = match
        self._left = n
        self._seen = 0
        self._reached = reached

    def saw(self, request: ProxiedRequest) -> bool:
        """Takes in a request; True when the wait is over."""
        if not self.test.whole(request):
            return False
        self._seen += 1
        if not self._match.picks(self._seen):
            return False
        self._left -= 1
        if self._left == 0:
            self._reached()
        return self._left <= 0


class ActiveFaults:
    """All windows by id; `quiet` while nothing needs a look at any message."""

    def __init__(self, facts: ClusterState, seed: int, on_hit: Callable[[str], None]) -> None:
        self._facts = facts
        self._seed = seed
        self._on_hit = on_hit
        self.open: dict[str, ActiveFault] = {}
        self.done: dict[str, ActiveFault] = {}
        self._watches: list[tuple[str, MessageTrigger]] = []
        self._order: tuple[ActiveFault, ...] = ()
        self.gates: tuple[ActiveFault, ...] = ()
        self.quiet = True

    def begin(self, window: Window) -> ActiveFault:
        """Opens a window; a second one of the same id is a mistake of the caller."""
        if window.id in self.open:
            raise BadSchedule(f"fault {window.id!r} is active already.")
        made = self.open[window.id] = ActiveFault(window, self._facts, self._seed, self._on_hit)
        self.done.pop(window.id, None)
        self._changed()
        return made

    def end(self, window_id: str) -> ActiveFault | None:
        """Ends a window and forgets what waited for it; None when it was not open."""
        self._watches = [(owner, watch) for owner, watch in self._watches if owner != window_id]
        window = self.open.pop(window_id, None)
        if window is not None:
            window.ended = True
            self.done[window_id] = window
        self._changed()
        return window

    def watch(self, window_id: str, match: Match, n: int, reached: Callable[[], object]) -> None:
        """Calls back at the n-th request that matches from now on."""
        self._watches.append((window_id, MessageTrigger(match, n, self._facts, reached)))
        self._changed()

    def unwatch(self, window_id: str) -> None:
        """Stops waiting on behalf of a window."""
        self._watches = [(owner, watch) for owner, watch in self._watches if owner != window_id]
        self._changed()

    def concerns(self, key: int) -> bool:
        """Whether any window or wait may be about this API."""
        return not self.quiet and any(
            not test.keys or key in test.keys
            for test in (*(w.test for w in self._order), *(watch.test for _, watch in self._watches))
        )

    def picked(self, request: ProxiedRequest) -> Iterator[tuple[ActiveFault, Draws]]:
        """The windows that disturb this request. Waits come first, so that a window they open can hit this very
        request."""
        for owned in list(self._watches):
            if owned in self._watches and owned[1].saw(request) and owned in self._watches:
                self._watches.remove(owned)
                self._changed()
        return _picking((fault for fault in self._order if not fault.fault.in_flight), request)

    def gating(self, request: ProxiedRequest) -> Iterator[tuple[ActiveFault, Draws]]:
        """The windows that bar the way of whatever passes: this request, or the response to it."""
        return _picking(self.gates, request)

    def hits(self) -> dict[str, int]:
        """How often each window has bitten."""
        return {name: window.hits for name, window in (self.done | self.open).items()}

    def _changed(self) -> None:
        self._order = tuple(self.open.values())
        self.gates = tuple(w for w in self._order if w.fault.in_flight)
        self.quiet = not self._order and not self._watches


def _picking(faults: Iterable[ActiveFault], request: ProxiedRequest) -> Iterator[tuple[ActiveFault, Draws]]:
    for fault in faults:
        if fault.test.whole(request) and (draws := fault.picks(request)) is not None:
            yield fault, draws

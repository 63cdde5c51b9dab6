"""What happens in the ZooKeeper of a cluster between two looks of a case, as watches notice it.

    with watched(zookeeper, nodes=["/controller"], children=["/brokers/ids"]) as watch:
        ...
        watch.of("/controller")     # as it was at first, and after each change that was noticed

A watch reads anew after something changed, so that of changes in a row it may see the last alone; while its server is
away it sees none, and reads anew afterwards. So what was noticed proves something, and what was not proves nothing.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from brokertrial.suites.probe.acts import came_of
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.znode import Znode
from brokertrial.suites.probe.zookeeper import ZooKeeper

LOG = logging.getLogger("brokertrial.ensemble_watch")
"""A session that is suspended is a row of the history, and nothing to warn users of."""
SESSION_S = 6.0
START_S = 20.0
NODE, CHILDREN, SESSION = "node:", "children:", "session:"
"""What kind of news a path is of, before the path: how the history tells it from a look."""


class Watches:
    """The watches themselves, with a session of their own. Their library calls from its threads; any may `take`."""

    def __init__(self, nodes: Sequence[str], children: Sequence[str]) -> None:
        self._nodes = nodes
        self._children = children
        self._client: Any = None
        self._ends = False
        self._noticed: deque[tuple[int, Znode]] = deque()

    def begin(self, address: str) -> None:
        """Returns when each has read its node for the first time; names are watched of nodes that exist."""
        from kazoo.client import KazooClient

        self._client = KazooClient(hosts=address, timeout=SESSION_S, logger=LOG)
        self._client.add_listener(lambda state: self._notice(Znode(SESSION, True, str(state).lower())))
        self._client.start(timeout=START_S)
        for path in self._nodes:
            self._client.DataWatch(path, self._of_node(NODE + path))
        for path in self._children:
            self._client.ChildrenWatch(path, self._of_children(CHILDREN + path))

    def take(self) -> list[tuple[int, Znode]]:
        """What was noticed since it was last taken, in order, and when."""
        return [self._noticed.popleft() for _ in range(len(self._noticed))]

    def end(self) -> None:
        """Ends the session; that is no news."""
        self._ends = True
        if self._client is not None:
            self._client.stop()
            self._client.close()

    def _of_node(self, path: str) -> Callable[..., None]:
        def notice(data: bytes | None, stat: Any, event: object = None) -> None:
            if stat is None:
                self._notice(Znode(path, False))
                return
            text = (data or b"").decode("utf-8", "replace")
            self._notice(Znode(path, True, text, stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner or 0))

        return notice

    def _of_children(self, path: str) -> Callable[[list[str]], None]:
        return lambda names: self._notice(Znode(path, True, children=tuple(sorted(names))))

    def _notice(self, seen: Znode) -> None:
        if not self._ends:
            self._noticed.append((time.monotonic_ns(), seen))


class EnsembleWatch:
    """What a case is given: all that the watches noticed so far, which is in the history too."""

    def __init__(self, zookeeper: ZooKeeper, watches: Watches) -> None:
        self._door = zookeeper.door
        self._watches = watches
        self._taken: deque[tuple[int, Znode]] = deque()
        self._seen: list[Znode] = []

    def of(self, path: str) -> list[Znode]:
        """A node as it was seen: at first, and after each change that was noticed."""
        return [seen for seen in self.all() if seen.path == NODE + path]

    def children(self, path: str) -> list[tuple[str, ...]]:
        """The names below a node, in the same way."""
        return [seen.children for seen in self.all() if seen.path == CHILDREN + path]

    def all(self) -> list[Znode]:
        """Everything, what became of the session too."""
        when = self._door.act("noticed by watches", self._take)
        for _, path in msgspec.json.decode(when, type=list[tuple[int, str]]):
            text = self._door.observe(path, lambda: msgspec.json.encode(self._taken.popleft()[1]).decode())
            self._seen.append(msgspec.json.decode(text, type=Znode))
        return list(self._seen)

    def _take(self) -> str:
        self._taken.extend(self._watches.take())
        return msgspec.json.encode([(ns, seen.path) for ns, seen in self._taken]).decode()


@contextmanager
def watched(zookeeper: ZooKeeper, nodes: Sequence[str], children: Sequence[str] = ()) -> Iterator[EnsembleWatch]:
    """Watches these nodes, which need not exist, and the names below those; what is still unread at the end is kept."""
    watches = Watches(nodes, children)

    watch = EnsembleWatch(zookeeper, watches)
    try:
        said = f"watch {' '.join([*nodes, *children])}"
        begin = partial(came_of, lambda: watches.begin(zookeeper.ensemble.control.address))
        if why := zookeeper.door.act(said, begin):
            raise Unclear("suite", f"ZooKeeper could not be watched: {why}")
        yield watch
    finally:
        try:
            watch.all()
        finally:
            zookeeper.door.act("watch no more", partial(came_of, watches.end))

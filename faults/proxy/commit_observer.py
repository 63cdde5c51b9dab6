"""What members of groups committed, and of which generation they said to be, as their own messages show it.

A client library tells nobody the generation under which it commits; only the wire has it. Rows of the kind
`commit-seen` stand beside the client's own `commit`: they say what was asked in one attempt, and what it was answered.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from brokertrial.faults.match import ClusterState
from brokertrial.faults.proxy.exchange import ProxiedRequest
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Operation

OFFSET_COMMIT = 8
KIND = "commit-seen"
FIRST_OP = 1 << 41
"""Above every number that a recorder gives out: the proxy numbers what it saw by itself."""


class CommitObserver:
    """Turns OffsetCommit exchanges of group members into operations, one a partition."""

    def __init__(self, facts: ClusterState, wanted: Callable[[str], bool], add: Callable[[Operation], None]) -> None:
        """`wanted`: whether a topic is of this trial."""
        self._facts = facts
        self._wanted = wanted
        self._add = add
        self._ops = count(FIRST_OP)

    def saw(self, exchange: ProxiedRequest, answer: Any) -> None:
        """Takes in one exchange; a commit from outside any group states no generation and is left out."""
        request = exchange.body_if_readable()
        if request is None or request.generation_id_or_member_epoch < 0:
            return
        asked = {(name, part.partition_index): part.committed_offset for name, part in self._parts(request)}
        op, returned = next(self._ops), now_ns()
        for topic, part in self._parts(answer):
            if (topic, part.partition_index) in asked and self._wanted(topic):
                self._add(
                    Operation(
                        op=op,
                        client=exchange.client,
                        kind=KIND,
                        topic=topic,
                        partition=part.partition_index,
                        node=exchange.node,
                        call_ns=exchange.at_ns,
                        return_ns=returned,
                        outcome="ok" if part.error_code == 0 else "info",
                        error=part.error_code,
                        committed_offset=asked[topic, part.partition_index],
                        group=request.group_id,
                        generation=request.generation_id_or_member_epoch,
                    )
                )

    def _parts(self, message: Any) -> Iterator[tuple[str, Any]]:
        for topic in message.topics:
            name = topic.name or self._facts.topic_name(topic.topic_id)
            if name:
                yield from ((name, part) for part in topic.partitions)

"""The minimal replay of docs/finding-transaction-markers.md: a commit while a partition has no leader for a moment.

    python -m campaigns.leaderless_commit [kafka:4.4.0?nodes=3]

Three nodes; a topic of one replica, on another node than the coordinator of the transaction. A record is written in the
transaction, the node that holds it is killed, the transaction commits, the node comes back. Then the same producer
aborts another transaction. The first record was committed: read_committed MUST show it, and its marker MUST be there.

Exit status: 0, so it was; 1, it was not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target

TOPIC, ID, TRANSACTION = "one-copy", "transactional-id", 1
NOBODY = -1


def main(text: str) -> int:
    """Plays it and prints what was seen; the exit status."""
    with Scratch("leaderless") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}")
        return 0 if played(target) else 1


def played(target: Target) -> bool:
    """Whether the committed record is there at the end."""
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    wire = Wire.unrecorded(CaseContext(prefix="", case=""), addresses)
    holder = next(node for node in target.nodes if node != wire.coordinator(ID, TRANSACTION))
    wire.create_topic(TOPIC, partitions=-1, assignments={0: [holder]}).must_succeed()
    wire.await_topic(TOPIC)
    producer = wire.producer(ID, timeout_ms=60_000)
    producer.send(TOPIC, "committed").must_succeed()

    target.nodes[holder].kill()
    wire.drop_lines()
    wire.until(lambda: _leader(wire) == NOBODY, within=30, what="the partition has no leader")
    wire.end_txn(ID, producer.id, producer.epoch, commit=True).must_succeed()
    print(f"committed while it has no leader: {_state(wire)}")

    target.recover()
    wire.await_topic(TOPIC)
    try:
        wire.await_settled(TOPIC, within=20)
    except StatementFalse as why:
        print(f"the transaction is still open in the partition: {why}")
    print("the log:", *_log(wire))
    later = wire.producer(ID, timeout_ms=60_000)
    later.send(TOPIC, "aborted").must_succeed()
    later.abort()
    wire.await_settled(TOPIC, within=20)
    print("the log after an abort:", *_log(wire))
    shown = wire.read_all(TOPIC, isolation=COMMITTED).values
    print("read_committed shows", shown)
    return shown == [b"committed"]


def _leader(wire: Wire) -> int:
    return int(wire.refresh_metadata(TOPIC).topics[0].partitions[0].leader_id)


def _state(wire: Wire) -> str:
    row = wire.describe_transaction(ID).must_succeed().struct.transaction_states[0]
    return f"{row.transaction_state} with {sum(len(topic.partitions) for topic in row.topics)} partitions to mark"


def _log(wire: Wire) -> list[str]:
    """The batches: a marker's kind, or the values of the records."""
    found = wire.read_all(TOPIC).batches
    return [part.marker().kind if part.header.is_control else str([r.value for r in part.records()]) for part in found]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "kafka:4.4.0?nodes=3"))

"""Dozens of leader epochs in one log, each known for as long as it has records (KIP-101, KIP-320)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.offsets.epochs_at_replicas import DIVERGING_SINCE, Epochs
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import batch

ELECTIONS = 20


@case(
    "offsets/dozens-of-epochs",
    guarantees=["repl-008", "repl-009"],
    apis={"Fetch": DIVERGING_SINCE, "OffsetForLeaderEpoch": 2, "CreateTopics": 5, **MOVES},
    needs=["three-nodes", "leaders", "topic-settings", "kill", "restart"],
    detects=["B360"],
)
def each_of_many_epochs_has_its_end(wire, nodes, rng):
    """OffsetForLeaderEpoch MUST return where each epoch of a log ended, however many came after it, and every replica
    that serves consumers MUST name that end to who has read beyond it; also once the leader has crashed.

    Twenty elections, with a batch or two in each epoch.
    """
    order = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", order)
    for _ in range(ELECTIONS):
        wire.produce(topic, batch(*["more"] * rng.randint(1, 3))).must_succeed()
        order = [*order[1:], order[0]]
        comes_to_lead(wire, topic, order, order[0])
        wire.refresh_metadata(topic)
    wire.produce(topic, batch("last")).must_succeed()
    epochs = Epochs(wire, topic, rng)
    wire.must(len(epochs.ends) > ELECTIONS, f"{ELECTIONS + 1} leaders have written, in {len(epochs.ends)} epochs")
    epochs.must_end()
    epochs.must_be_known_to_all()
    nodes.crash(order[0])
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    Epochs(wire, topic, rng).must_end()

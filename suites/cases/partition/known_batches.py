"""A batch that a new leader knows already, from the leader before it, is acknowledged no sooner than any other."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._played import LONG_MS, Played
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, produce_request, take_over
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart


@case(
    "partition/known-batches-wait-for-followers",
    guarantees=["repl-001", "repl-010", "idem-008"],
    needs=NEEDS,
    apis=APIS | {"InitProducerId": 0},
    detects=["B46"],
)
def what_is_sent_again_waits_as_what_is_new(wire, nodes, rng):
    """A batch of an idempotent producer that is sent again to a new leader MUST NOT be acknowledged to acks=all while a
    replica in sync lacks it, though the leader knows it from the one before; once that replica has it, it MUST be, with
    its first offset.

    One follower is cut off, and the suite plays it: it has all but that batch, and then everything.
    """
    former, new, lagging = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [former, new, lagging], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    producer = wire.producer()
    again = producer.batch("1", sequence=0)
    with apart(nodes, lagging, "brokers"):
        wire.produce(topic, again, acks=1, to=former).must_be_at(1)
        wire.rest(REPLICATED_S)
        take_over(wire, topic, [new, former, lagging])
        wire.refresh_metadata(topic)
        played = Played(wire, rng, topic, new, [lagging], ["0", "1"])
        played.at[lagging] = played.visible = 1
        told_by_fetches(wire, played)
        waiting = OpenRequest(wire, new, produce_request(wire, topic, again, LONG_MS), "again")
        played.said(lagging, 1)
        waiting.await_answer(REPLICATED_S)
        played.must(
            waiting.response if waiting.answered else wire,
            not waiting.acknowledged,
            f"it is acknowledged when it is sent again; {played.so_far}",
        )
        played.said(lagging, played.end)
        waiting.await_answer(WITHIN_S)
        wire.must(waiting.acknowledged, f"it is {waiting.said} when it is sent again; each replica has it")
        base = waiting.response.struct.responses[0].partition_responses[0].base_offset
        waiting.response.must(base == 1, f"it is acknowledged at offset {base}; it is at 1")
    all_in_sync(wire, topic)
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold(*played.values)

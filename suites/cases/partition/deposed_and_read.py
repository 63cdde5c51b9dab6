"""What consumers read from a node that has just lost leadership, and hears nothing from who leads now."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, lead_in_this_order, shown_by, take_over
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

FROM_FOLLOWERS = 11


@case(
    "partition/read-from-a-deposed-leader",
    guarantees=["fetch-012", "repl-011", "fetch-010"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "Fetch": 11, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B43"],
)
def what_it_returned_it_returns_still(wire, nodes, rng):
    """A leader that is deposed MUST go on returning what it has returned as committed to those who read from followers,
    from wherever they read, also before it has heard from the leader after it: an OFFSET_OUT_OF_RANGE, or a lower high
    watermark, would send them back (Redpanda #15357). When it leads again it MUST name the same end.
    """
    former, new, _ = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [former, new], **ALONE)
    all_in_sync(wire, topic)
    values = [f"{number}" for number in range(rng.randint(3, 6))]
    for number, value in enumerate(values):
        wire.produce(topic, batch(value)).must_be_at(number)
    wire.read_all(topic).must_hold(*values)
    with apart(nodes, former, "brokers", [new]):
        take_over(wire, topic, [new, former])
        wire.until(
            lambda: shown_by(wire, topic, former).leader_id == new, within=WITHIN_S, what=f"{former} knows who leads"
        )
        for version in [each for each in wire.versions("Fetch") if each >= FROM_FOLLOWERS]:
            offset = rng.randint(0, len(values))
            seen = wire.fetch(topic, offset=offset, version=version, to=former, max_wait_ms=0).must_succeed()
            seen.must_hold(*values[offset:])
            mark = seen.high_watermark
            seen.must(mark == len(values), f"its high watermark is {mark}; it returned {len(values)} as leader")
    all_in_sync(wire, topic)
    lead_in_this_order(wire, topic, [former, new])
    wire.refresh_metadata(topic)
    wire.list_offsets(topic).must_name(offset=len(values))
    wire.read_all(topic).must_hold(*values)

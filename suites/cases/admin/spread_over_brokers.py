"""Where topics of one partition are placed when the brokers choose: not all on the same ones."""

from collections import Counter

from brokertrial.suites.case import case

EACH, FACTORS = 14, (1, 2)
"""With places that are drawn a broker of three has none of 42 topics in one run of 10 million."""


@case(
    "admin/small-topics-are-spread",
    guarantees=["adm-001"],
    level="should",
    needs=["three-nodes"],
    apis={"CreateTopics": 2},
    detects=["B150"],
)
def no_broker_has_all_of_them(wire):
    """Topics of one partition whose placement is left to the brokers SHOULD be spread: of many, each broker leads some
    and holds some, whatever their replication factor is, and each has as many different replicas as it was to have.

    So many topics that chance leaves no broker out, with one replica and with two.
    """
    for factor in FACTORS:
        names = [wire.name(f"t{number}") for number in range(EACH * len(wire.nodes))]
        wire.create_topics([wire.topic_row(name, replicas=factor) for name in names]).must_succeed()
        wire.await_topic(names[-1])
        answer = wire.metadata(*names, to=wire.controller).must_succeed()
        places = [row.replica_nodes for each in answer.struct.topics for row in each.partitions]
        with wire.part(f"{factor} of {len(wire.nodes)} nodes"):
            wrong = [on for on in places if len(set(on)) != factor or len(on) != factor]
            answer.must(not wrong and len(places) == len(names), f"there are {len(places)}, of which {wrong} are wrong")
            first, all_of = Counter(on[0] for on in places), Counter(one for on in places for one in on)
            for what, counts in (("first replicas", first), ("replicas", all_of)):
                none = [node for node in wire.nodes if not counts[node]]
                said = f"of the {what} of {len(places)} topics {none} have none; they are spread as {dict(counts)}"
                answer.must(not none, said, "topics")

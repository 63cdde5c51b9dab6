"""Records that a leader had alone when it went down: it shows them to no consumer once it is back as a follower."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, leader_shown, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

ALONE = {"min.insync.replicas": "1"}
RECORDS, MORE, FOLLOWERS_SINCE, LOOKS, EACH_S = 5, 4, 11, 4, 0.4


@case(
    "replication/not-shown-after-a-stop",
    guarantees=["repl-004"],
    needs=["three-nodes", "leaders", "network", "terminate", "kill", "restart", "topic-settings", "partitions"],
    apis={"Fetch": FOLLOWERS_SINCE},
    detects=["B325"],
)
def what_was_never_replicated_is_not_shown(wire, nodes, rng):
    """A leader that was stopped cleanly, or killed, with records that no other replica had MUST NOT show these to
    consumers that read from it as a follower, nor a high watermark beyond what was replicated, before it has heard from
    the next leader; and they MUST be gone after that.

    Its connections to the other brokers are cut before it takes records with acks=1, and until it was asked again.
    """
    for down in rng.sample([nodes.terminate, nodes.kill], 2):
        former, follower, _ = rng.sample(list(wire.nodes), 3)
        topic = placed(wire, "t", [former, follower], **ALONE)
        all_in_sync(wire, topic)
        sent = [f"{number}" for number in range(RECORDS)]
        for value in sent:
            wire.produce(topic, batch(value)).must_succeed()
        with apart(nodes, former, "brokers"):
            for number in range(MORE):
                wire.produce(topic, batch(f"alone {number}"), acks=1, to=former).must_succeed()
            down(former)
            wire.until(
                lambda topic=topic, leads=follower: leader_shown(wire, topic, leads) == leads,
                within=WITHIN_S,
                what=f"node {follower} leads {topic}",
            )
            nodes.start(former)
            for _ in range(LOOKS):
                _must_show_no_more(wire, topic, former)
                wire.rest(EACH_S)
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        for node in (former, follower):
            wire.eventually(
                lambda at=(topic, node, sent): wire.fetch(at[0], to=at[1]).must_hold(*at[2]), within=WITHIN_S
            )


def _must_show_no_more(wire, topic, former):
    """It may refuse; what it gives was replicated."""
    answer = wire.fetch(topic, offset=0, to=former, retry=False)
    answer.examined = True
    if answer.error:
        return
    shown, end = len(answer.values), answer.high_watermark
    answer.must(
        end <= RECORDS,
        f"the high watermark is {end}; the other replica has {RECORDS} records",
        "responses[0].partitions[0].high_watermark",
    )
    answer.must(shown <= RECORDS, f"{shown} records are returned; the other replica has {RECORDS}")

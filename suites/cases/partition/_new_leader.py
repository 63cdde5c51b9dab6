"""A new leader that does not know how much of what it took over is committed."""

from contextlib import contextmanager

from brokertrial.suites.cases.partition._played import Played
from brokertrial.suites.cases.partition._replicas import REPLICATED_S, take_over
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe.apart import apart

ALONE = {"min.insync.replicas": "1"}


@contextmanager
def knows_the_first_record_alone(wire, nodes, rng, first, second):
    """Two records are written, of which the new leader knows the first to be committed. The follower that lacks the
    second is cut off, and the suite plays it.
    """
    former, new, lagging = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [former, new, lagging], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, first).must_be_at(0)
    with apart(nodes, lagging, "brokers"):
        wire.produce(topic, second, acks=1, to=former).must_be_at(1)
        wire.rest(REPLICATED_S)
        take_over(wire, topic, [new, former, lagging])
        wire.refresh_metadata(topic)
        played = Played(wire, rng, topic, new, [lagging], ["0", "1"])
        played.at[lagging] = played.visible = 1
        yield played
    all_in_sync(wire, topic)

"""Negative times in ListOffsets: names of places, each from a version on (KIP-79, KIP-734, KIP-405, KIP-1005)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SINCE = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
"""From which version on a name means something; what it means is other cases' business."""


@case("offsets/times-that-mean-nothing", guarantee="offs-010", apis={"ListOffsets": 1}, detects=["K14"])
def a_time_that_its_version_does_not_have_is_refused(wire, topic, rng):
    """A negative time that the version of ListOffsets does not have MUST be refused (35) for its partition, in every
    version, and what is asked beside it MUST be answered; a client would take an offset for what it asked for.

    Drawn ones, and those that later versions have.
    """
    wire.produce(topic, batch("a", "b"))
    beyond = len(wire.known_partitions(topic))
    for version in wire.versions("ListOffsets"):
        later = [time for time, since in SINCE.items() if since > version]
        with wire.part(f"v{version}"):
            for time in (*later, -(2**63), -rng.randrange(7, 2**40)):
                wire.list_offsets(topic, at=time, version=version).must_be_refused(errors.UNSUPPORTED_VERSION)
            rows = [{"partition_index": 0, "timestamp": -1}, {"partition_index": beyond, "timestamp": -100}]
            asked = request("ListOffsets", replica_id=-1, topics=[{"name": topic, "partitions": rows}])
            answer = wire.ask(asked, to=lambda: wire.leader(topic), version=version)
            codes = {row.partition_index: row.error_code for row in answer.struct.topics[0].partitions}
            wanted = {0: errors.NONE, beyond: errors.UNSUPPORTED_VERSION}
            answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics[0].partitions")
            wire.list_offsets(topic, version=version).must_name(offset=2)

"""Metadata that names a topic by an id and a name, and before there is a way to ask by ids (KIP-516)."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITH_IDS, BY_IDS = 10, 12


@case(
    "protocol/ids-beside-names",
    guarantees=["prot-018", "adm-001"],
    apis={"Metadata": WITH_IDS},
    needs=["partitions"],
    detects=["H26", "H27"],
)
def an_id_says_more_than_a_name(wire, topic_of, rng):
    """Where Metadata is asked for a topic by an id and a name, the id MUST count, from v12 on: it returns the topic
    that has the id, or UNKNOWN_TOPIC_ID (100). In v10 and v11, which return ids but take none, the request MUST be
    refused (42), and so MUST one without a name.
    """
    one, two = topic_of(partitions=1, what="one"), topic_of(partitions=3, what="two")
    ids = {name: wire.topic_id(name) for name in (one, two)}
    unknown_id = UUID(int=rng.getrandbits(120) + 99)
    for version in (each for each in wire.versions("Metadata") if each >= WITH_IDS):
        for node in wire.nodes:
            for name, id_, wanted in (
                (one, ids[one], (one, ids[one], errors.NONE, 1)),
                (one, ids[two], (two, ids[two], errors.NONE, 3)),
                (None, ids[two], (two, ids[two], errors.NONE, 3)),
                (one, unknown_id, (None, unknown_id, errors.UNKNOWN_TOPIC_ID, 0)),
                (None, unknown_id, (None, unknown_id, errors.UNKNOWN_TOPIC_ID, 0)),
            ):
                rows = [{"name": name, "topic_id": id_}]
                answer = wire.ask(
                    request("Metadata", topics=rows, allow_auto_topic_creation=False), version=version, to=node
                )
                returned = [
                    (row.name, row.topic_id, row.error_code, len(row.partitions)) for row in answer.struct.topics
                ]
                if version < BY_IDS:
                    codes = [row[2:] for row in returned]
                    right = codes == [(errors.INVALID_REQUEST, 0)]
                    answer.must(right, f"(error code, partitions) are {codes}; it must be refused with 42", "topics")
                else:
                    same = [(row[0] or None, *row[1:]) for row in returned] == [wanted]
                    answer.must(
                        same, f"asked for {(name, str(id_))} it returns {returned}; it must return {wanted}", "topics"
                    )

"""The effect of quotas on clients that exceed them (KIP-13, KIP-219, KIP-599), and on no other client."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.produce import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

WITHIN_S = 10
RATE, MADE = 2.0, 12  # partitions a second, of which 22 are saved up, and how many come with a request
BYTE_RATE, SIZE = 10_000.0, 30_000  # over the ten seconds or so that are looked at
TOO_MANY = errors.THROTTLING_QUOTA_EXCEEDED
QUOTAS = {"AlterClientQuotas": 0}


@case(
    "admin/changes-beyond-the-quota",
    guarantees=["sec-010", "adm-021"],
    apis={**QUOTAS, "CreateTopics": 6, "CreatePartitions": 3, "DeleteTopics": 5},
    needs=["started", "partitions"],
    detects=[edit_answer("topics[].error_code", set=0, api="CreateTopics")],
)
def changes_beyond_the_quota_are_refused(wire):
    """Once a client has created more partitions than its controller_mutation_rate allows, CreateTopics from v6,
    CreatePartitions from v3 and DeleteTopics from v5 on MUST be refused (89) and change nothing, with the time after
    which they are accepted again; older versions are answered with that time, and are carried out. Other clients MUST
    NOT be throttled.
    """
    client, other = wire.name("client"), wire.name("other")
    lines = iter(range(100))

    def line(client_id):  # one that was throttled rests: each request has a line of its own
        name = f"line-{next(lines)}"
        wire.connect(name, wire.nodes[0], client_id=client_id)
        return {"via": name, "to": wire.nodes[0]}

    def created(client_id, partitions=1, **how):
        topic = wire.name("topic")
        return topic, wire.create_topic(topic, partitions=partitions, **line(client_id), **how)

    _alter(wire, client, "controller_mutation_rate", RATE)
    try:
        old, answer = created(client)
        answer.must_succeed()

        def refusal():
            topic, answer = created(client, MADE)
            return (topic, answer) if answer.error else None

        refused, answer = wire.until(refusal, within=WITHIN_S, what="who makes more than allowed is refused")
        _must_be_throttled(answer.must_be_refused(TOO_MANY))
        before, answer = created(client, MADE, version=5)
        _must_be_throttled(answer.must_succeed())
        grown = request("CreatePartitions", topics=[{"name": old, "count": 2, "assignments": None}], timeout_ms=20_000)
        _must_be_throttled(wire.ask(grown, **line(client)).must_be_refused(TOO_MANY))
        deleted = request(
            "DeleteTopics", topics=[{"name": old, "topic_id": ZERO_UUID}], topic_names=[old], timeout_ms=20_000
        )
        _must_be_throttled(wire.ask(deleted, **line(client)).must_be_refused(TOO_MANY))
        free, answer = created(other)
        answer.must_succeed().must_have("throttle_time_ms", 0)

        metadata = {row.name: row for row in wire.metadata(refused, old, before, free).struct.topics}
        wire.must(metadata[refused].error_code == errors.UNKNOWN_TOPIC_OR_PARTITION, "what was refused was made")
        wire.must(len(metadata[old].partitions) == 1, "what was refused was changed")
        wire.eventually(lambda: created(client)[1].must_succeed(), within=2 * WITHIN_S)
    finally:
        _alter(wire, client, "controller_mutation_rate", None)


@case(
    "admin/bytes-beyond-the-quota",
    guarantees=["sec-010"],
    apis={**QUOTAS, "Produce": 3},
    needs=["leaders"],
    detects=[edit_answer("throttle_time_ms", set=0, api="Produce")],
)
def bytes_beyond_the_quota_are_throttled(wire, topic):
    """What a client sends beyond its producer_byte_rate MUST be accepted and answered at once, with the time for which
    its connection is muted then; requests on it in that time MUST be answered after it. Other clients MUST NOT be
    throttled.
    """
    client, other = wire.name("client"), wire.name("other")
    node, value = wire.leader(topic), b"v" * SIZE
    wire.connect("client", node, client_id=client)
    wire.connect("other", node, client_id=other)
    _sent(wire, topic, "client", "a").must_have("throttle_time_ms", 0)

    def throttled():
        answer = _sent(wire, topic, "client", value)
        return answer if answer.struct.throttle_time_ms > 0 else None

    _alter(wire, client, "producer_byte_rate", BYTE_RATE)
    try:
        answer = wire.until(throttled, within=WITHIN_S, what="who sends more than allowed is asked to wait")
        throttle_ms = answer.struct.throttle_time_ms
        slack = 1000 * wire.slack_s
        answer.must(
            answer.took_ms < throttle_ms + slack,
            f"it took {answer.took_ms:.0f} ms; it asks to wait {throttle_ms} ms from now on",
        )
        late = wire.ask(request("Metadata", topics=[]), via="client", to=node, may_take_s=throttle_ms / 1000 + WITHIN_S)
        late.must(
            late.took_ms > throttle_ms / 2,
            f"it took {late.took_ms:.0f} ms on a connection that rests for {throttle_ms} ms",
        )
        _sent(wire, topic, "other", value).must_have("throttle_time_ms", 0)
    finally:
        _alter(wire, client, "producer_byte_rate", None)


def _sent(wire, topic, via, value):
    return wire.produce(topic, batch(value), via=via).must_succeed()


def _must_be_throttled(answer):
    throttle_ms = answer.struct.throttle_time_ms
    return answer.must(
        throttle_ms > 0, "it returns no time to wait; the client is beyond its quota", "throttle_time_ms"
    )


def _alter(wire, client, key, value):
    op = {"key": key, "value": value or 0.0, "remove": value is None}
    entry = {"entity": [{"entity_type": "client-id", "entity_name": client}], "ops": [op]}
    wire.ask(request("AlterClientQuotas", entries=[entry], validate_only=False)).must_succeed()

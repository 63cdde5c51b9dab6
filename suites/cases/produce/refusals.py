"""A Produce that is refused for good leaves no trace."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

#: Errors after which nothing was done, and none of which a healthy broker gives a good batch.
WRONG_SHAPE = (
    errors.INVALID_RECORD,
    errors.CORRUPT_MESSAGE,
    errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    errors.INVALID_REQUEST,
)
DEFINITE = (
    errors.CORRUPT_MESSAGE,
    errors.MESSAGE_TOO_LARGE,
    errors.INVALID_TOPIC_EXCEPTION,
    errors.INVALID_REQUIRED_ACKS,
    errors.INVALID_RECORD,
)


@case(
    "produce/refused-leaves-no-trace",
    guarantee="prod-004",
    apis={"Produce": 3},
    detects=["M01b:every=3", "M31"],
)
def what_is_refused_is_never_read(wire, topic_of):
    """A batch that is refused for its content MUST NOT be read by any client, and MUST NOT take an offset.

    Refused for good: a wrong checksum, a wrong count, an unknown acks, too large a size; between them good ones.
    """
    topic = topic_of(configs={"max.message.bytes": "2000"})
    refused = [
        (batch("crc", crc=12345), {}, (errors.CORRUPT_MESSAGE, errors.INVALID_RECORD)),
        (batch("count", record_count=3), {}, (errors.INVALID_RECORD, errors.CORRUPT_MESSAGE)),
        (batch("acks"), {"acks": 3}, (errors.INVALID_REQUIRED_ACKS,)),
        (batch(b"x" * 3_000), {}, (errors.MESSAGE_TOO_LARGE,)),
    ]
    for number, (content, how, codes) in enumerate(refused):
        wire.produce(topic, batch(f"good {number}")).must_be_at(number)
        wire.produce(topic, content, **how).must_be_refused(*codes)
    wire.list_offsets(topic, at="latest").must_name(offset=4)
    wire.read_all(topic).must_hold("good 0", "good 1", "good 2", "good 3")


@case(
    "produce/refused-leaves-no-trace-after-a-crash",
    guarantees=["prod-004", "prod-001"],
    apis={"Produce": 3},
    needs=["leaders", "kill", "restart"],
    detects=["M01b:every=3"],
)
def what_is_refused_is_not_read_after_a_crash_either(wire, topic, nodes):
    """A batch that was refused for good MUST NOT be read by anyone, though its leader is killed or its client cut off.

    Good and bad batches are under way together, four times: the first client is cut off before it has read its answers,
    and at the end of each other turn, while more are under way, the leader is killed. Of the good ones those that were
    acknowledged are there, each once; of the others any may be.
    """
    kept, refused = [], []
    for turn in range(4):
        names = [f"{turn}-{number}" for number in range(12)]
        bad = names[1::3]
        sent = [(name, batch(name, crc=12345) if name in bad else batch(name)) for name in names]
        how = {"via": f"turn {turn}", "wait": False, "retry": False}
        under_way = [(name, wire.produce(topic, content, **how)) for name, content in sent]
        refused += bad
        if turn == 0:
            wire.drop_lines()
            continue
        for name, answer in under_way:
            if name in bad:
                answer.must_be_refused(errors.CORRUPT_MESSAGE, errors.INVALID_RECORD)
            elif answer.error in DEFINITE:
                refused.append(name)
            elif answer.error == errors.NONE:
                kept.append(name)
        wire.produce(topic, batch(f"{turn} unheard"), acks=0, via="unheard", wait=False)
        nodes.crash(nodes.of(topic))
        wire.await_topic(topic)

    log = wire.read_all(topic)
    found = [value.decode() for value in log.values]
    log.must(not set(refused) & set(found), f"{sorted(set(refused) & set(found))} were refused and are read")
    log.must(len(set(found)) == len(found), f"some records are there twice: {found}")
    lost = sorted(set(kept) - set(found))
    log.must(not lost, f"{lost} were acknowledged and are gone")


@case(
    "produce/unknown-acks",
    guarantee="prod-005",
    detects=[edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce", skip=1)],
)
def an_acks_that_is_none_is_refused(wire, topic):
    """A Produce with acks other than -1, 0 and 1 MUST be refused with INVALID_REQUIRED_ACKS and append nothing."""
    node = wire.leader(topic)
    asked = [wire.produce(topic, batch(f"{acks}"), acks=acks, to=node, wait=False) for acks in (2, -2, 127, 32_767)]
    for answer in asked:
        with wire.part(f"acks={answer.asked.request.acks}"):
            answer.must_be_refused(errors.INVALID_REQUIRED_ACKS)
    wire.produce(topic, batch("one"), acks=1).must_be_at(0)
    wire.produce(topic, batch("all"), acks=-1).must_be_at(1)
    wire.read_all(topic).must_hold("one", "all")


@case(
    "produce/unknown-partition",
    guarantee="prod-008",
    detects=[edit_answer("responses[].partition_responses[].error_code", set=-1, api="Produce")],
)
def a_partition_that_does_not_exist_is_named_so(wire, topic):
    """Produce to a partition or a topic that does not exist MUST be refused with UNKNOWN_TOPIC_OR_PARTITION (3).

    A client that gets another answer, or none, does not look for the partition again.
    """
    node = wire.leader(topic)
    by_name = min(wire.versions("Produce")[-1], 12)
    absent = (-1, len(wire.known_partitions(topic)), 2**31 - 1)
    asked = [wire.produce(topic, batch("a"), index, to=node, wait=False) for index in absent]
    for version in sorted({wire.versions("Produce")[0], by_name}):
        asked.append(wire.produce(wire.name("absent"), batch("a"), to=node, version=version, wait=False))
    for number, answer in enumerate(asked):
        with wire.part(f"partition {absent[number]}" if number < len(absent) else f"no topic, v{answer.version}"):
            answer.must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    wire.produce(topic, batch("a")).must_be_at(0)


@case(
    "produce/batch-shapes",
    guarantee="prod-013",
    apis={"Produce": 3},
    detects=[edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce", times=2)],
)
def a_partition_takes_one_batch_of_the_present_format(wire, topic):
    """A Produce MUST hold one batch of format 2 for each partition; none, two or another format MUST be refused.

    Nothing of what is refused is appended, not even the first batch of two.
    """
    good = batch("a")
    wrong = {
        "no batch at all": b"",
        "two batches": good + batch("b"),
        "format 0": batch("a", magic=0),
        "format 1": batch("a", magic=1),
        "format 3": batch("a", magic=3),
        "a batch that is cut short": good[:-1],
        "half a header": good[:30],
        "a batch without records": batch(records=[], payload=b"", record_count=0),
    }
    node = wire.leader(topic)
    asked = {what: wire.produce(topic, content, to=node, via="shapes", wait=False) for what, content in wrong.items()}
    for what, answer in asked.items():
        with wire.part(what):
            answer.must_be_refused(*WRONG_SHAPE)
    wire.produce(topic, good).must_be_at(0)
    wire.read_all(topic).must_hold("a")

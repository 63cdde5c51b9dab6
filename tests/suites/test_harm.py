"""A record that is harmed fails a wire case about a `should` too; a wrong error code there stays a warning."""

from uuid import UUID

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.harm import harm_in
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.running.attempts import severity
from brokertrial.wire.messages import request, response
from brokertrial.wire.records import batches, patch
from tests.suites.scripted import TOPIC, wire_to

SHOULD, MUST = "fetch-007", "prod-001"


class Log:
    """One partition of a broker; subclasses harm what is in it."""

    def __init__(self):
        self.parts = []
        self.end = 0
        self.sequences = set()

    def append(self, part):
        header = next(batches(part)).header
        known = (header.producer_id, header.producer_epoch, header.base_sequence)
        if header.producer_id >= 0 and known in self.sequences:
            return next(h.base_offset for h in map(_header, self.parts) if h[9:12] == known)
        self.sequences.add(known)
        return self.store(part)

    def store(self, part):
        base, self.end = self.end, self.end + _header(part).record_count
        self.parts.append(patch(part, base, 0))
        return base

    def produce(self, asked):
        ((row,),) = ((part.partition_data) for part in asked.topic_data)
        return self.produced(asked, self.append(bytes(row.records)))

    def produced(self, asked, base, code=0):
        row = asked.topic_data[0]
        told = {"index": 0, "base_offset": base, "error_code": code}
        return response(
            "Produce", responses=[{"name": row.name, "topic_id": row.topic_id, "partition_responses": [told]}]
        )

    def fetch(self, asked):
        row = asked.topics[0]
        position = row.partitions[0].fetch_offset
        held = b"".join(part for part in self.parts if _header(part).last_offset >= position)
        told = {"partition_index": 0, "high_watermark": self.end, "records": held}
        return response("Fetch", responses=[{"topic": row.topic, "topic_id": row.topic_id, "partitions": [told]}])

    def list_offsets(self, asked):
        row = asked.topics[0]
        offset = self.end if row.partitions[0].timestamp == -1 else 0
        return response(
            "ListOffsets", topics=[{"name": row.name, "partitions": [{"partition_index": 0, "offset": offset}]}]
        )


def _header(part):
    return next(batches(part)).header


class Forgets(Log):
    """The second batch is acknowledged, and something else takes its place in the count of offsets alone."""

    def store(self, part):
        base = super().store(part)
        if base == 1:
            self.parts.pop()
        return base


class CutsTheEnd(Log):
    def fetch(self, asked):
        del self.parts[2:]
        answer = super().fetch(asked)
        answer.responses[0].partitions[0].high_watermark = 2
        return answer

    def list_offsets(self, asked):
        answer = super().list_offsets(asked)
        answer.topics[0].partitions[0].offset = min(answer.topics[0].partitions[0].offset, 2)
        return answer


class Alters(Log):
    def store(self, part):
        return super().store(batch("changed") if self.end == 1 else part)


class Doubles(Log):
    def store(self, part):
        base = super().store(part)
        if base == 1:
            super().store(part)
        return base


class ForgetsSequences(Log):
    def append(self, part):
        return self.store(part)


class Refuses(Log):
    """The wrong error code, and nothing harmed."""

    def produce(self, asked):
        return self.produced(asked, -1, 87) if self.end == 2 else super().produce(asked)


class TellsAnotherOffset(Log):
    """The answer is wrong, and the record lies safely elsewhere."""

    def produce(self, asked):
        answer = super().produce(asked)
        answer.responses[0].partition_responses[0].base_offset += 5
        return answer


def case(wire):
    for value in "abc":
        wire.produce(TOPIC, batch(value)).must_be_at("abc".index(value))
    wire.read_all(TOPIC).must_hold("a", "b", "c")


def careless(wire):
    for value in "abc":
        wire.produce(TOPIC, batch(value))
    wire.read_all(TOPIC).must_hold("a", "b", "c")


def twice(wire):
    same = batch("a", producer_id=7, producer_epoch=0, base_sequence=0)
    wire.produce(TOPIC, same)
    wire.produce(TOPIC, same)
    wire.produce(TOPIC, batch("b", producer_id=7, producer_epoch=0, base_sequence=1))
    wire.read_all(TOPIC).must_hold("a", "b")


def backwards(wire):
    for sequence in (5, 3):
        wire.produce(TOPIC, batch(f"{sequence}", producer_id=7, producer_epoch=0, base_sequence=sequence))
    wire.read_all(TOPIC).must_hold("3", "5")


def same_value_twice(wire):
    wire.produce(TOPIC, batch("a"))
    wire.produce(TOPIC, batch("a"))
    wire.read_all(TOPIC).must_hold("a", "a")


def come_to(log, function, guarantee):
    function.__doc__ = "Something SHOULD hold."
    tried = Case("tests/case", function, (guarantee,), (), {}, {}, False, None)
    handlers = {"Produce": log.produce, "Fetch": log.fetch, "ListOffsets": log.list_offsets}
    wire, exchanger = wire_to(**handlers)
    outcome = attempt(tried, wire, exchanger, {}, lambda: True)
    return outcome, severity(tried.level, outcome)


@pytest.mark.parametrize(
    ("log", "function", "signature"),
    [
        (Forgets, case, "harm:lost-write"),
        (CutsTheEnd, case, "harm:lost-write"),
        (Alters, case, "harm:altered"),
        (Doubles, careless, "harm:duplicate"),
        (ForgetsSequences, twice, "harm:duplicate"),
        (ForgetsSequences, backwards, "harm:reordered"),
    ],
)
def test_a_should_that_harms_a_record_is_a_failure(log, function, signature):
    outcome, level = come_to(log(), function, SHOULD)
    assert outcome.verdict is Verdict.FAIL
    assert signature in [failure.signature for failure in outcome.failures]
    assert any(failure.harms and failure.evidence for failure in outcome.failures)
    assert level == "must"


def test_harm_is_seen_where_the_case_itself_did_not_look():
    def looks_away(wire):
        for value in "abc":
            wire.produce(TOPIC, batch(value))
        wire.fetch(TOPIC)

    outcome, level = come_to(Alters(), looks_away, SHOULD)
    assert (outcome.verdict, level) == (Verdict.FAIL, "must")
    assert "b'b' was acknowledged at offset 1, and b'changed' lies there" in outcome.reason.sentence


@pytest.mark.parametrize("log", [Refuses, TellsAnotherOffset])
def test_a_should_that_harms_nobody_stays_a_warning(log):
    outcome, level = come_to(log(), case, SHOULD)
    assert (outcome.verdict, level) == (Verdict.FAIL, "should")


@pytest.mark.parametrize("function", [case, twice, same_value_twice])
def test_a_sound_broker_harms_nobody(function):
    outcome, _ = come_to(Log(), function, SHOULD)
    assert (outcome.verdict, outcome.failures) == (Verdict.PASS, ())


def test_a_must_is_a_failure_anyway_and_costs_nothing():
    outcome, level = come_to(Alters(), case, MUST)
    assert (outcome.verdict, level, len(outcome.failures)) == (Verdict.FAIL, "must", 1)


@pytest.mark.parametrize(("names_it", "level"), [(False, "must"), (True, "should")])
def test_a_record_delivered_though_aborted(names_it, level):
    class Ends(Log):
        def fetch(self, asked):
            answer = super().fetch(asked)
            if names_it:
                told = response("Fetch", responses=[{"partitions": [{"aborted_transactions": [
                    {"producer_id": 7, "first_offset": 0}]}]}])  # fmt: skip
                answer.responses[0].partitions[0].aborted_transactions = (
                    told.responses[0].partitions[0].aborted_transactions
                )
            return answer

    def aborts(wire):
        made = batch("a", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        wire.produce(TOPIC, made, transactional_id="x")
        wire.end_txn("x", 7, 0, commit=False, via="main")
        wire.read_all(TOPIC, isolation=COMMITTED).must_hold("nothing of the kind")

    assert _severity_of(aborts, Ends()) == level


def test_what_is_sent_again_belongs_to_the_transaction_that_wrote_it():
    """Before transaction.version 2 a batch of the transaction before is known in the next, and told where it lies."""

    def sends_again(wire):
        made = batch("a", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        wire.produce(TOPIC, made, transactional_id="x")
        wire.end_txn("x", 7, 0, commit=True, via="main")
        wire.produce(TOPIC, made, transactional_id="x").must_be_at(0)
        wire.end_txn("x", 7, 0, commit=False, via="main")
        wire.read_all(TOPIC, isolation=COMMITTED).must_hold("nothing of the kind")

    assert _severity_of(sends_again, Log()) == "should"


def aborted_and_made_again(*deleted):
    """An aborted record at offset 0 of t, then a committed one at offset 0 of the t that was made after it."""

    def sent(at, value):
        made = batch(value, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        data = [{"name": "t", "partition_data": [{"index": 0, "records": bytes(made)}]}]
        row = {"name": "t", "partition_responses": [{"index": 0, "base_offset": 0, "error_code": 0}]}
        asked = request("Produce", acks=-1, transactional_id="x", topic_data=data)
        return Told(at, asked, response("Produce", responses=[row]))

    def ended(at, committed):
        return Told(at, request("EndTxn", transactional_id="x", committed=committed), response("EndTxn"))

    brought = patch(bytes(batch("b", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)), 0, 0)
    part = {"partition_index": 0, "high_watermark": 2, "records": brought}
    looked = Told(
        11,
        request("Fetch", isolation_level=1, topics=[{"topic": "t", "partitions": [{"fetch_offset": 0}]}]),
        response("Fetch", responses=[{"topic": "t", "partitions": [part]}]),
    )
    return harm_in(
        [sent(1, "a"), ended(3, committed=False), *deleted, sent(7, "b"), ended(9, committed=True), looked],
        {},
        all_seen=True,
    )


@pytest.mark.parametrize("answer", [response("DeleteTopics", responses=[{"name": "t", "error_code": 0}]), None])
def test_an_aborted_record_of_a_topic_that_was_deleted_shows_nothing_of_the_next(answer):
    """Also where the answer to DeleteTopics was lost: it may have been carried out."""
    assert aborted_and_made_again(Told(5, request("DeleteTopics", topics=[{"name": "t"}]), answer)) is None
    assert aborted_and_made_again().signature == "harm:altered", "the near miss: nobody deleted it"


def _severity_of(function, log):
    function.__doc__ = "Something SHOULD hold."
    tried = Case("tests/case", function, (SHOULD,), (), {}, {}, False, None)
    wire, exchanger = wire_to(
        Produce=log.produce, Fetch=log.fetch, ListOffsets=log.list_offsets,
        EndTxn=lambda asked: response("EndTxn", producer_id=7, producer_epoch=1),
        FindCoordinator=lambda asked: response(
            "FindCoordinator", coordinators=[{"key": "x", "node_id": 1, "host": "h", "port": 9}]
        ),
    )  # fmt: skip
    return severity(tried.level, attempt(tried, wire, exchanger, {}, lambda: True))


class Told:
    """An exchange as harm.py looks at one."""

    def __init__(self, at, asked, answer):
        self.sent_ns, self.received_ns, self.request, self.answer = at, at + 1, asked, answer

    def evidence(self):
        return ()


def made_again(**deleted):
    """A record at offset 0 of t, written by name as in Kafka 3.9; t made again; another at offset 0, read by id."""
    old, new = (UUID(int=number) for number in (1, 2))

    def sent(at, value):
        data = [{"name": "t", "partition_data": [{"index": 0, "records": value}]}]
        row = {"index": 0, "base_offset": 0, "error_code": 0}
        return Told(
            at,
            request("Produce", acks=-1, topic_data=data),
            response("Produce", responses=[{"name": "t", "partition_responses": [row]}]),
        )

    row = {"name": "t", "topic_id": old, "error_code": 0}
    gone = [Told(3, request("DeleteTopics", **deleted), response("DeleteTopics", responses=[row]))] if deleted else []
    held = patch(bytes(batch("new")), 0, 0)
    part = {"partition_index": 0, "high_watermark": 1, "records": held}
    read = Told(
        7,
        request("Fetch", topics=[{"topic_id": new, "partitions": [{"partition": 0, "fetch_offset": 0}]}]),
        response("Fetch", responses=[{"topic_id": new, "partitions": [part]}]),
    )
    asked = [sent(1, bytes(batch("a"))), *gone, sent(5, bytes(batch("new"))), read]
    return harm_in(asked, {"t": new}, all_seen=True)


def test_a_topic_that_was_deleted_by_its_id_is_another_when_it_is_made_again():
    """DeleteTopics v6 by id names nothing in its request; Kafka 3.9.2 was accused of an altered record for that."""
    assert made_again(topics=[{"name": None, "topic_id": UUID(int=1)}]) is None
    assert made_again(topics=[{"name": "t"}]) is None
    assert made_again(topic_names=["t"]) is None
    assert made_again().signature == "harm:altered", "the near miss: nobody deleted it"


def test_a_compacted_topic_with_an_empty_name_is_looked_at():
    """Kafka refuses the name; a case that asked for it was inconclusive by our own error."""
    row = {"name": "", "configs": [{"name": "cleanup.policy", "value": "compact"}]}
    told = response("CreateTopics", topics=[{"name": "", "error_code": 17}])
    assert harm_in([Told(1, request("CreateTopics", topics=[row]), told)], {}, all_seen=True) is None


def wrote(at, topic, *values, base=0, sequence=-1):
    held = batch(*values, base_offset=base) if sequence < 0 else _idempotent(values, sequence)
    data = [{"name": topic, "partition_data": [{"index": 0, "records": bytes(held)}]}]
    row = {"index": 0, "base_offset": base, "error_code": 0}
    told = response("Produce", responses=[{"name": topic, "partition_responses": [row]}])
    return Told(at, request("Produce", acks=-1, topic_data=data), told)


def _idempotent(values, sequence):
    return batch(*values, producer_id=7, producer_epoch=0, base_sequence=sequence)


def read(at, topic, *parts, end):
    part = {"partition_index": 0, "high_watermark": end, "records": b"".join(parts)}
    asked = request("Fetch", topics=[{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0}]}])
    return Told(at, asked, response("Fetch", responses=[{"topic": topic, "partitions": [part]}]))


@pytest.mark.parametrize(("fetched", "found"), [(False, None), (True, "harm:lost-write")])
def test_an_end_that_list_offsets_alone_names_loses_nothing(fetched, found):
    """Tansu names the start of the last batch: six cases said that acknowledged records were lost, which were there."""
    asked = request("ListOffsets", topics=[{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}])
    part = {"partition_index": 0, "offset": 1, "error_code": 0}
    told = Told(5, asked, response("ListOffsets", topics=[{"name": "t", "partitions": [part]}]))
    last = read(7, "t", end=1) if fetched else told
    harm = harm_in([wrote(1, "t", "a", "b"), told, last], {}, all_seen=True)
    assert (harm and harm.signature) == found


def test_two_records_of_one_offset_are_both_there():
    first, second = (patch(bytes(batch(value)), 0, 0) for value in "ab")
    assert harm_in([wrote(1, "t", "b"), read(3, "t", first, second, end=1)], {}, all_seen=True) is None
    near = harm_in([wrote(1, "t", "b"), read(3, "t", first, end=1)], {}, all_seen=True)
    assert near is not None and near.signature == "harm:altered"


@pytest.mark.parametrize(("topic", "found"), [("__consumer_offsets", None), ("t", "harm:duplicate")])
def test_what_coordinators_write_begins_at_sequence_0_each_time(topic, found):
    """Apache Kafka 3.9.2 was accused of a doubled batch: two TxnOffsetCommits of one producer."""
    parts = [patch(bytes(_idempotent(["a"], 0)), base, 0) for base in (0, 1)]
    harm = harm_in([read(3, topic, *parts, end=2)], {}, all_seen=True)
    assert (harm and harm.signature) == found

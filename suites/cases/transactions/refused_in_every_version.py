"""Each refusal of a transactional request, in each version, with a code that the version has."""

from typing import NamedTuple

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.produce import UNVERIFIED
from brokertrial.suites.probe.verification import code_of_its_own
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

APIS = {
    "InitProducerId": 0,
    "AddPartitionsToTxn": 0,
    "AddOffsetsToTxn": 0,
    "TxnOffsetCommit": 0,
    "EndTxn": 0,
    "DescribeTransactions": 0,
}
NEWEST = {"Produce": 11, "AddPartitionsToTxn": 3, "AddOffsetsToTxn": 4, "EndTxn": 4, "TxnOffsetCommit": 4}
"""Later ones are between brokers, or join by themselves."""
VERIFIED_S, LONG, LIMIT = 10, 32_000, "offset.metadata.max.bytes"
OPEN_MS, SHORT_MS = 600_000, 50_000
"""A transaction stays open while all refusals are asked for."""
LIMITLESS = f"TxnOffsetCommit takes metadata that is longer than {LIMIT}"
NO_PRODUCER = "InitProducerId names a producer id or an epoch beside an error; Apache Kafka answers -1 and -1"
"""No text promises a value beside an error code, and clients heed the code first."""
VERIFICATION = "transaction.partition.verification.enable"
FENCED_SINCE = {"AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2, "InitProducerId": 4}
"""PRODUCER_FENCED (90); before it INVALID_PRODUCER_EPOCH (47), as of Produce and TxnOffsetCommit in every version."""
ABORTABLE_SINCE = {"Produce": 11, "TxnOffsetCommit": 4}
MAPPED, EPOCH, REQUEST = errors.INVALID_PRODUCER_ID_MAPPING, errors.INVALID_PRODUCER_EPOCH, errors.INVALID_REQUEST


class AskedAs(NamedTuple):
    """Whom a request says that it is from."""

    transactional_id: str
    id: int
    epoch: int


@case(
    "transactions/refused-in-every-version",
    guarantees=["txn-007", "txn-009", "txn-015", "txn-020", "txn-026", "txn-029"],
    apis=APIS,
    needs=["partitions"],
    since="3.8 (KIP-1050)",
    detects=["T03", "T04"],
)
def each_refusal_has_the_code_of_its_version(wire, topic_of, group, rng):
    """A transactional producer's request that is refused MUST be refused in every version, with a code that this
    version has: an epoch that is over or yet to come (47, or 90 in versions that have it), another's producer id or an
    unknown transactional id (49), an empty one (42), a partition or a group that was not added (48, or 120 in versions
    that have it), a timeout that is too long or not positive (50), half of an identity (42), an empty group (24), a
    partition that does not exist (3), an end without a transaction (48). What was open stays as it was.

    Metadata that is too long SHOULD be refused (12): where it is taken the report says so. Each part is asked of ids
    that are as they were made: what was accepted though it was to be refused is followed by new ones.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    VersionedRefusals(wire, topic_of(partitions=2), group, rng).must_all_be_refused()


class VersionedRefusals:
    """An id with an open transaction in one partition, one with nothing open, one of another producer, one with
    offsets.
    """

    def __init__(self, wire, topic, group, rng):
        self.wire, self.topic, self.group, self.rng, self.accepted = wire, topic, group, rng, False
        self.too_long = _too_long(wire)
        self._make_ids()

    def _make_ids(self):
        wire = self.wire
        self.open, self.empty, self.other, self.offsets = map(self._begun, ("open", "empty", "other", "offsets"))
        for _ in range(3):  # another epoch than that of the first
            answer = wire.init_producer_id(self.other.transactional_id, timeout_ms=SHORT_MS)
            self.other = self.other._replace(epoch=answer.epoch)
        version = min(3, max(wire.versions("AddPartitionsToTxn")))
        wire.add_partitions(*self.open, [(self.topic, 0)], version=version).must_succeed()
        version = min(4, max(wire.versions("AddOffsetsToTxn")))
        wire.add_offsets(*self.offsets, self.group, version=version).must_succeed()
        self.before = self._described()

    def _begun(self, what):
        """The second epoch of an id: there is one that is over."""
        name = self.wire.name(what)
        producer = self.wire.producer(name, timeout_ms=OPEN_MS)
        producer.start()
        return AskedAs(name, producer.id, producer.epoch)

    def must_all_be_refused(self):
        for api, versions in self._versions().items():
            for version in versions:
                for what, code, ask in getattr(self, f"_{api.lower()}")(version):
                    self._must_be_refused(f"{api} v{version}, {what}", code, ask)
        after = self._described()
        self.wire.must(self.before == after, f"the ids are {after}; before the refusals they were {self.before}")
        if self.accepted:
            return
        for partition in range(2):
            self.wire.list_offsets(self.topic, partition).must_name(offset=0)
        self.wire.committed(self.group, self.topic).must_be(-1)

    def _must_be_refused(self, what, code, ask):
        found = errors.NONE
        with self.wire.part(what):
            answer, found = code_of_its_own(ask, code)
            if code == errors.OFFSET_METADATA_TOO_LARGE and found == errors.NONE:
                _note(self.wire, LIMITLESS)
            else:
                message = f"it is answered {errors.name(found)}; it must be {errors.name(code)}"
                answer.must(found == code, message)
        if found == errors.NONE:
            self.accepted = True
            self._make_ids()

    def _versions(self):
        apis = ("Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "InitProducerId")
        lowest = {"Produce": 3}
        return {
            api: [each for each in self.wire.versions(api) if lowest.get(api, 0) <= each <= NEWEST.get(api, 5)]
            for api in apis
        }

    def _described(self):
        """State, producer, epoch, timeout and partitions of each id."""
        rows = [
            self.wire.describe_transaction(one.transactional_id).must_succeed().struct.transaction_states[0]
            for one in (self.open, self.empty, self.other, self.offsets)
        ]
        return [
            (row.transaction_state, row.producer_id, row.producer_epoch, row.transaction_timeout_ms, len(row.topics))
            for row in rows
        ]

    # who asks

    def _strangers(self, api, version):
        """Each identity that is wrong, and its code; of the ids as they are when it is their turn."""
        fenced = errors.PRODUCER_FENCED if version >= FENCED_SINCE.get(api, 99) else EPOCH
        yield "of an epoch that is over", fenced, self.open._replace(epoch=self.open.epoch - 1)
        yield "of an epoch to come", fenced, self.open._replace(epoch=self.open.epoch + 1)
        yield "by another's producer id", MAPPED, self.open._replace(id=self.other.id, epoch=self.other.epoch)
        yield "by an unknown id", MAPPED, self.open._replace(transactional_id=self.wire.name("unknown"))
        yield "by an empty id", REQUEST, self.open._replace(transactional_id="")

    def _unadded(self, api, version):
        return errors.TRANSACTION_ABORTABLE if version >= ABORTABLE_SINCE[api] else errors.INVALID_TXN_STATE

    # what is asked

    def _produce(self, version):
        for what, code, who in self._strangers("Produce", version):
            yield what, code, lambda who=who: self._written(who, version, 0)
        unadded = self._unadded("Produce", version)
        yield "to a partition that was not added", unadded, lambda: self._written(self.open, version, 1)
        yield "where nothing is open", unadded, lambda: self._written(self.empty, version, 0)

    def _written(self, who, version, partition):
        made = batch("a", producer_id=who.id, producer_epoch=who.epoch, base_sequence=0, transactional=True)

        def asked():
            answer = self.wire.produce(
                self.topic, made, partition, transactional_id=who.transactional_id, version=version, retry=False
            )
            return None if answer.error in UNVERIFIED else answer

        answer = self.wire.until(asked, within=VERIFIED_S, what="the coordinator has verified the partition")
        return answer, answer.error

    def _addpartitionstotxn(self, version):
        places = [(self.topic, 0), (self.topic, 1)]
        for what, code, who in self._strangers("AddPartitionsToTxn", version):
            yield what, code, lambda who=who: self._added(who, places, version)

    def _added(self, who, places, version):
        answer = self.wire.add_partitions(*who, places, version=version, retry=False)
        codes = {
            row.partition_error_code
            for each in answer.struct.results_by_topic_v3_and_below
            for row in each.results_by_partition
        }
        answer.must(len(codes) == 1, f"the partitions have the error codes {sorted(codes)}; they must have one")
        return answer, codes.pop()

    def _addoffsetstotxn(self, version):
        for what, code, who in self._strangers("AddOffsetsToTxn", version):
            yield (
                what,
                code,
                lambda who=who: self._plain(self.wire.add_offsets(*who, self.group, version=version, retry=False)),
            )

    def _endtxn(self, version):
        for what, code, who in self._strangers("EndTxn", version):
            yield what, code, lambda who=who: self._end(who, version)
        yield "of nothing", errors.INVALID_TXN_STATE, lambda: self._end(self.empty, version)

    def _end(self, who, version):
        commit = self.rng.random() < 0.5
        return self._plain(self.wire.end_txn(*who, commit=commit, version=version, retry=False))

    def _plain(self, answer):
        return answer, answer.struct.error_code

    def _txnoffsetcommit(self, version):
        name = self.topic
        for what, code, who in self._strangers("TxnOffsetCommit", version):
            yield what, code, lambda who=who: self._staged(who, version)
        unadded = self._unadded("TxnOffsetCommit", version)
        yield "of a group that was not added", unadded, lambda: self._staged(self.open, version)
        yield "where nothing is open", unadded, lambda: self._staged(self.empty, version)
        absent = errors.UNKNOWN_TOPIC_OR_PARTITION
        yield "of a partition that there is not", absent, lambda: self._staged(self.open, version, place=(name, 9))
        too_large = errors.OFFSET_METADATA_TOO_LARGE
        if self.too_long:
            yield "with long metadata", too_large, lambda: self._staged(self.offsets, version, metadata=self.too_long)
        yield "of no group", errors.INVALID_GROUP_ID, lambda: self._staged(self.open, version, group="")

    def _staged(self, who, version, place=None, metadata="", group=None):
        topic, partition = place or (self.topic, 0)
        part = {"partition_index": partition, "committed_offset": 5, "committed_metadata": metadata}
        asked = request(
            "TxnOffsetCommit",
            transactional_id=who.transactional_id,
            group_id=self.group if group is None else group,
            producer_id=who.id,
            producer_epoch=who.epoch,
            topics=[{"name": topic, "topic_id": ZERO_UUID, "partitions": [part]}],
        )
        node = self.wire.coordinator(self.group)

        def settled():
            answer = self.wire.ask(asked, to=node, version=version)
            code = answer.struct.topics[0].partitions[0].error_code
            return None if code in UNVERIFIED else (answer, code)

        return self.wire.until(settled, within=VERIFIED_S, what="the coordinator has verified the group's partition")

    def _initproducerid(self, version):
        for timeout_ms in (0, -1, 2**31 - 1):
            for who in (self.open, self._new()):
                yield (
                    f"with a timeout of {timeout_ms} ms",
                    errors.INVALID_TRANSACTION_TIMEOUT,
                    lambda timeout_ms=timeout_ms, who=who: self._init(who, version, timeout_ms=timeout_ms),
                )
        yield "by an empty id", REQUEST, lambda: self._init(self._new()._replace(transactional_id=""), version)
        if version < 3:
            return
        fenced = errors.PRODUCER_FENCED if version >= FENCED_SINCE["InitProducerId"] else EPOCH
        # what has a transaction open is asked to try again, whatever its epoch
        for what, ahead in (("of an epoch that is over", -1), ("of an epoch to come", 1)):
            yield (
                what,
                fenced,
                lambda ahead=ahead: self._init(self.empty, version, self.empty.id, self.empty.epoch + ahead),
            )
        other = "by another's producer id"
        yield other, fenced, lambda: self._init(self.empty, version, self.other.id, self.other.epoch)
        nobody = self.empty._replace(transactional_id=None)
        yield "with half an identity and no id", REQUEST, lambda: self._init(nobody, version, self.empty.id, -1)
        yield "with half an identity", REQUEST, lambda: self._init(self.empty, version, self.empty.id, -1)
        yield "with the other half", REQUEST, lambda: self._init(self.empty, version, -1, self.empty.epoch)

    def _new(self):
        return AskedAs(self.wire.name("new"), -1, -1)

    def _init(self, who, version, id_=-1, epoch=-1, timeout_ms=SHORT_MS):
        answer = self.wire.init_producer_id(
            who.transactional_id, timeout_ms=timeout_ms, producer_id=id_, epoch=epoch, version=version, retry=False
        )
        given = (answer.struct.producer_id, answer.struct.producer_epoch)
        if answer.struct.error_code and given != (-1, -1):
            _note(self.wire, NO_PRODUCER)
        return self._plain(answer)


def _note(wire, sentence):
    if sentence not in wire.noted:
        wire.noted.append(sentence)


def _too_long(wire):
    """Metadata beyond the limit; nothing where the brokers do not report one, or one that a string cannot exceed."""
    limit = wire.setting(LIMIT)
    return "m" * LONG if limit is not None and int(limit) < LONG else ""

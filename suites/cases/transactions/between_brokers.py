"""AddPartitionsToTxn as brokers ask it: several transactions at once, added to or only verified (KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BATCHED, UNKNOWN, WITHIN_S, OPEN_MS = 4, 99, 10, 600_000
BUSY = (errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE)


@case(
    "transactions/several-added-or-verified",
    guarantees=["txn-020", "txn-026", "txn-028", "txn-029"],
    apis={"AddPartitionsToTxn": BATCHED, "EndTxn": 0, "DescribeTransactions": 0},
    needs=["started", "partitions"],
    detects=["T11"],
)
def each_transaction_of_a_request_is_judged_for_itself(wire, topic_of, rng):
    """Each transaction that one AddPartitionsToTxn names from v4 on MUST be judged separately. Its partitions are
    added, or verified to belong to it, which changes nothing: a partition that does not belong is refused with the code
    of the version (48 or 120). An unknown id or another's producer id is refused (49), another epoch as fenced (47 or
    90), and a partition that does not exist (3) leaves the others of its transaction unattempted (55), and no other's.

    Four transactional ids of one coordinator, two topics, 30 drawn requests in drawn versions.
    """
    one, two = topic_of(partitions=3), topic_of(what="other")
    places = [*((one, number) for number in range(3)), (two, 0)]
    names = [wire.name(f"x{number}") for number in range(40)]
    node = wire.coordinator(names[0], 1)
    ids = [AddedTo(wire, name) for name in names if wire.coordinator(name, 1) == node][:4]
    versions = [each for each in wire.versions("AddPartitionsToTxn") if each >= BATCHED]
    for _ in range(30):
        asked, wanted = [], {}
        for each in rng.sample(ids, rng.randint(1, len(ids))):
            row, codes = each.drawn(rng, places)
            asked.append(row)
            wanted[row["transactional_id"]] = codes
        answer = wire.ask(
            request("AddPartitionsToTxn", transactions=asked), to=node, version=rng.choice(versions), retry_on=BUSY
        )
        found = {
            each.transactional_id: {
                (topic.name, part.partition_index): part.partition_error_code
                for topic in each.topic_results
                for part in topic.results_by_partition
            }
            for each in answer.struct.results_by_transaction
        }
        wrong = [name for name in {*found, *wanted} if not fits(found.get(name), wanted.get(name))]
        differences = [(found.get(name), wanted.get(name)) for name in wrong[:1]]
        answer.must(not wrong, f"(answered, wanted) is {differences}", "results_by_transaction")
        for each in ids:
            each.must_be_described()
        for each in rng.sample(ids, 1):
            each.end(rng.random() < 0.5)


def fits(found, wanted):
    """Each partition has one of its codes."""
    return found is not None and wanted is not None and found.keys() == wanted.keys() and all(
        found[place] in wanted[place] for place in wanted
    )  # fmt: skip


class AddedTo:
    """A transactional id, and the partitions of its open transaction."""

    def __init__(self, wire, name):
        self.wire, self.name = wire, name
        producer = wire.producer(name, timeout_ms=OPEN_MS)
        self.id, self.epoch, self.held = producer.id, producer.epoch, set[tuple[str, int]]()

    def drawn(self, rng, places):
        """A row of the request, and the codes that each of its partitions may have."""
        asked = set(rng.sample(places, rng.randint(1, len(places))))
        how = rng.choice(("add", "add", "verify", "verify", "of another", "old", "beside an unknown"))
        verify = how == "verify" or (how != "add" and rng.random() < 0.5)
        id_, epoch = self.id, self.epoch
        codes: tuple[int, ...] = ()
        if how == "of another":
            id_, codes = self.id + 1_000_000, (errors.INVALID_PRODUCER_ID_MAPPING,)
        elif how == "old":
            epoch, codes = self.epoch + 1, (errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH)
        wanted: dict[tuple[str, int], tuple[int, ...]] = dict.fromkeys(asked, (0,))
        if how == "verify":
            outside = (errors.TRANSACTION_ABORTABLE, errors.INVALID_TXN_STATE)
            wanted = {place: (0,) if place in self.held else outside for place in asked}
        elif how in ("of another", "old"):
            wanted = dict.fromkeys(asked, codes)
        elif how == "beside an unknown":
            wanted = dict.fromkeys(asked, (errors.OPERATION_NOT_ATTEMPTED,))
            wanted[places[0][0], UNKNOWN] = (errors.UNKNOWN_TOPIC_OR_PARTITION,)
        elif how == "add":
            self.held |= asked
        topics: dict[str, list[int]] = {}
        for topic, number in rng.sample(list(wanted), len(wanted)):
            topics.setdefault(topic, []).append(number)
        row = {
            "transactional_id": self.name,
            "producer_id": id_,
            "producer_epoch": epoch,
            "verify_only": verify,
            "topics": [{"name": topic, "partitions": numbers} for topic, numbers in topics.items()],
        }
        return row, wanted

    def must_be_described(self):
        """Its partitions, and that it is open since there are some."""
        answer = self.wire.describe_transaction(self.name).must_succeed()
        row = answer.struct.transaction_states[0]
        held = {(each.topic, number) for each in row.topics for number in each.partitions}
        answer.must(held == self.held, f"{self.name} holds {sorted(held)}; it must hold {sorted(self.held)}")
        states = ("Ongoing",) if self.held else ("Empty", "CompleteCommit", "CompleteAbort")
        answer.must(row.transaction_state in states, f"{self.name} is {row.transaction_state}, and not of {states}")

    def end(self, commit):
        """By the protocol in which an end raises no epoch."""
        if not self.held:
            return
        version = min(4, max(self.wire.versions("EndTxn")))
        self.wire.end_txn(self.name, self.id, self.epoch, commit=commit, version=version).must_succeed()
        self.held = set()
        self.wire.eventually(self.must_be_described, within=WITHIN_S)

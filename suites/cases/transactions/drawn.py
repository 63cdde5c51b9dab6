"""Several transactions over several partitions in drawn steps: all that is returned of them is followed."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.produce import UNVERIFIED
from brokertrial.wire import errors

APIS = {"AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeTransactions": 0, "DescribeProducers": 0}
WITHIN_S = 10
APART_MS = 120_000
"""Between the times of two steps, where segments are to begin."""
ROW, ACTIVE = "transaction_states[0]", "topics[0].partitions[0].active_producers"
UNKNOWN = 99
"""A partition that no topic has."""
STEPS = (*["send"] * 4, *["several"] * 2, "plain", "again", "commit", "commit", "abort", "begin anew", "cut")


class Log:
    """A partition as it must be."""

    def __init__(self):
        self.start = self.end = 0
        self.leader_epoch = -1
        self.records = []
        """(offset, value, transaction); None is no transaction."""


class Running:
    """A producer and its transaction: `fate` is None while it is open."""

    def __init__(self, producer):
        self.producer = producer
        self.began = {}
        """Place -> the offset at which its open transaction begins there."""
        self.newest = {}
        """Place -> (sequence, value, offset) of its newest batch there."""
        self.fate = [None]


@case(
    "transactions/whatever-comes-next",
    guarantees=["txn-001", "txn-002", "txn-004", "txn-006", "txn-007", "txn-026"],
    apis=APIS,
    needs=["partitions"],
    detects=["M17", "M18a", "E01", "V11"],
)
def every_log_follows_its_transactions(wire, topic_of, rng):
    """Whatever producers write, commit, abort and begin anew in whatever order, each partition MUST have the end and
    the last stable offset of its transactions, MUST list the open ones with their start, and MUST hold what was
    committed for readers.

    Three transactional producers and a plain one, three partitions of two topics, 60 drawn steps; one request may write
    to several of them, and to one that does not exist; records are also deleted from the front, of open transactions
    too.
    """
    follow(wire, topic_of, rng, 60)


@case(
    "transactions/whatever-comes-next-over-restarts",
    guarantees=["txn-011", "txn-002", "txn-003", "txn-021", "fetch-002"],
    apis=APIS,
    needs=["partitions", "topic-settings", "leaders", "kill", "terminate", "restart"],
    detects=["M17", "M18a", "U05"],
)
def every_log_follows_its_transactions_over_restarts(wire, topic_of, rng, nodes):
    """Each partition MUST have the end and the last stable offset of its transactions, MUST list the open ones with
    their start, and MUST hold what was committed for readers, also where the leader is stopped cleanly, then killed,
    then killed again while transactions are open and after others have ended, in logs of several segments.

    All of them are open then in two partitions: they began in one order in the first and in the other in the second,
    and the other way about at the next stop, so that no order but that of their offsets fits.
    """
    acts = {12: nodes.stop_and_start, 24: nodes.crash, 36: nodes.stop_and_start, 48: nodes.crash}

    def disturb(turn, *topics):
        if turn in acts:
            acts[turn](nodes.of(topics[0]))
            for topic in topics:
                wire.await_topic(topic)
        return turn in acts

    follow(wire, topic_of, rng, 52, disturb, turns_before=acts, configs={"segment.ms": "60000"})


def follow(wire, topic_of, rng, turns, disturb=None, turns_before=(), **settings):
    """Drawn steps. `disturb` may do something after each turn, and says whether; all transactions are open before
    these turns."""
    topic, other = topic_of(partitions=2, **settings), topic_of(what="other", **settings)
    logs = {(topic, 0): Log(), (topic, 1): Log(), (other, 0): Log()}
    running = [Running(wire.producer(wire.name(f"x{number}"), timeout_ms=120_000)) for number in range(3)]
    plain = wire.producer()
    began = wire.now_ms() - turns * APART_MS
    for turn in range(turns):
        one, place = rng.choice(running), rng.choice(list(logs))
        step, log, value = rng.choice(STEPS), logs[place], f"{turn}"
        made_at = {"timestamp": began + turn * APART_MS} if disturb else {}
        if step == "several" and not disturb:
            _sent_to_several(wire, one, logs, rng, value)
        elif step in ("send", "several"):
            _sent(one, place, log, value, rng.randint(1, 3), made_at)
        elif step == "plain":
            with breaks(*_broken_by(made_at)):
                plain.send(place[0], value, partition=place[1], **made_at).must_be_at(log.end)
            _kept(log, value, None)
        elif step == "again" and place in one.newest and place in one.began and not disturb:
            sequence, values, offset = one.newest[place]
            with breaks("idem-002"):
                one.producer.send(place[0], *values, partition=place[1], sequence=sequence).must_be_at(offset)
        elif step in ("commit", "abort") and one.began:
            with breaks("txn-021" if disturb else "txn-001"):
                (one.producer.commit() if step == "commit" else one.producer.abort()).must_succeed()
            _ended(wire, one, logs, step == "commit")
        elif step == "begin anew":
            with breaks("txn-007"):
                one.producer.start()
            _ended(wire, one, logs, False)
        elif step == "cut" and log.end > log.start and not disturb:
            is_open = any(place in each.began for each in running)
            log.start = rng.choice(_first_ones(log)) if is_open else rng.randint(log.start, log.end)
            wire.delete_records(*place, offset=log.start).must_succeed()
        if turn in turns_before:
            _all_open(wire, logs, running, backwards=list(turns_before).index(turn) // 2 % 2, **made_at)
        if disturb and disturb(turn, topic, other):
            for each, its_log in logs.items():
                _must_be_described(wire, each, its_log, running)
                _must_hold(wire, each, its_log, running)
        _must_be_described(wire, place, log, running)
    for number, one in enumerate(running):
        if one.began:
            (one.producer.commit() if number else one.producer.abort()).must_succeed()
            _ended(wire, one, logs, number > 0)
    for place, log in logs.items():
        _must_be_described(wire, place, log, running)
        _must_hold(wire, place, log, running)


def _all_open(wire, logs, running, *, backwards, **made_at):
    """What is open ends; then each is open in two partitions, begun from the first to the last and the other way."""
    for one in running:
        if one.began:
            one.producer.abort().must_succeed()
            _ended(wire, one, logs, False)
    for number, place in enumerate(list(logs)[:2]):
        for one in running if number == backwards else reversed(running):
            _sent(one, place, logs[place], "open", 1, made_at)


@breaks("fetch-002")
def _must_hold(wire, place, log, running):
    """All below the stable offset that was not aborted, for a committed reader; all for others, from each batch on."""
    stable = max(min((one.began[place] for one in running if place in one.began), default=log.end), log.start)
    below = [record for record in log.records if log.start <= record[0] < stable]
    committed = [record for record in below if not record[2] or record[2][0]]
    read = wire.read_all(*place, isolation=COMMITTED)
    with breaks("txn-001", "txn-002"):
        read.must_have_offsets([offset for offset, _, _ in committed]).must_hold(*[value for _, value, _ in committed])
    every = wire.read_all(*place)
    every.must_have_offsets([offset for offset, _, _ in log.records if offset >= log.start])


def _first_ones(log):
    """Where a batch begins, and the end: a log that begins in the middle of one is stable up to either of the two."""
    first = [offset for offset, value, _ in log.records if not value.endswith((".1", ".2"))]
    return [*(offset for offset in first if offset >= log.start), log.end]


def _broken_by(settings):
    """By a batch that is not taken at the end: times of their own have those of cases in which leaders change."""
    return ("repl-012", "idem-008") if settings else ("prod-001",)


def _kept(log, value, fate):
    log.records.append((log.end, value, fate))
    log.end += 1


def _sent(one, place, log, value, count, settings):
    """A batch in the transaction, which begins here where it has none in this partition yet."""
    topic, partition = place
    values = [f"{value}.{number}" for number in range(count)]
    with breaks(*_broken_by(settings)):
        one.producer.send(topic, *values, partition=partition, **settings).must_be_at(log.end)
    sequence = one.producer.sequences[place] - count
    one.began.setdefault(place, log.end)
    one.newest[place] = (sequence, values, log.end)
    for each in values:
        _kept(log, each, one.fate)


@breaks("txn-001")
def _sent_to_several(wire, one, logs, rng, value):
    """One request in a drawn version, in the transaction: all partitions of one leader, and one that does not exist.

    Each is judged separately, and all that are written to belong to the transaction.
    """
    node, producer = wire.leader(*rng.choice(list(logs))), one.producer
    places = [place for place in logs if wire.leader(*place) == node]
    joins = wire.transaction_version >= 2
    version = rng.choice([each for each in wire.versions("Produce") if each >= 3 and (each >= 12) == joins])
    for place in places if not joins else ():
        producer.add(*place).must_succeed()
    nowhere = (places[0][0], UNKNOWN)
    asked = rng.sample([*places, nowhere], len(places) + 1)
    made = {place: producer.batch(f"{value}.0", sequence=producer.sequences.get(place, 0)) for place in asked}

    def settled():
        answer = wire.produce_all(made, transactional_id=producer.transactional_id, version=version, to=node)
        rows = {place: answer.of(*place) for place in made}
        return None if any(row.error in UNVERIFIED for row in rows.values()) else rows

    rows = wire.until(settled, within=WITHIN_S, what="the coordinator has verified the partitions")
    rows[nowhere].must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)
    for place in places:
        rows[place].must_be_at(logs[place].end)
        sequence = producer.sequences.get(place, 0)
        producer.sequences[place] = sequence + 1
        one.began.setdefault(place, logs[place].end)
        one.newest[place] = (sequence, [f"{value}.0"], logs[place].end)
        _kept(logs[place], f"{value}.0", one.fate)


@breaks("txn-006", "txn-011")
def _ended(wire, one, logs, commit):
    """Each partition of the transaction gets one marker, and no other does."""
    one.fate[0] = commit
    for place in one.began:
        logs[place].end += 1
    wire.eventually(lambda: [_must_be_marked(wire, place, log) for place, log in logs.items()], within=WITHIN_S)
    had = bool(one.began)
    one.began, one.newest, one.fate = {}, {}, [None]
    if had:
        wanted = "CompleteCommit" if commit else ("CompleteAbort", "Empty")
        wire.eventually(lambda: _must_be_in(wire, one, wanted), within=WITHIN_S)


def _must_be_marked(wire, place, log):
    """A marker may be there twice where the leader changed meanwhile: the coordinator asks the next one again."""
    listed = wire.list_offsets(*place).must_succeed()
    if listed.offset > log.end and log.leader_epoch != listed.leader_epoch >= 0:
        again = wire.read_all(*place, offset=log.end)
        again.must(all(part.header.is_control for part in again.batches), f"records were written from {log.end} on")
        log.end = listed.offset
    listed.must_name(offset=log.end)


@breaks("txn-021", "txn-026")
def _must_be_in(wire, one, states):
    described = wire.describe_transaction(one.producer.transactional_id).must_succeed()
    row = described.struct.transaction_states[0]
    described.must(
        row.transaction_state in states and not row.topics,
        f"the transaction is {row.transaction_state} with {len(row.topics)} topics; it must have ended",
        f"{ROW}.transaction_state",
    )


@breaks("txn-026")
def _must_be_described(wire, place, log, running):
    """Both ends at both isolations, the open transactions of the partition, and the partitions of each of these."""
    open_here = {one.producer.id: one.began[place] for one in running if place in one.began}
    stable = max(min(open_here.values(), default=log.end), log.start)
    with breaks("offs-001", "fetch-010"):
        wire.list_offsets(*place, at="earliest").must_name(offset=log.start)
        log.leader_epoch = wire.list_offsets(*place).must_name(offset=log.end).leader_epoch
    with breaks("txn-004"):
        at = {"isolation": COMMITTED}
        wire.eventually(lambda: wire.list_offsets(*place, **at).must_name(offset=stable), within=WITHIN_S)
    answer = wire.describe_producers(*place).must_succeed()
    starts = {row.producer_id: row.current_txn_start_offset for row in answer.at(ACTIVE)}
    found = {producer: start for producer, start in starts.items() if start >= 0}
    answer.must(found == open_here, f"the open transactions begin at {found}; they must be {open_here}", ACTIVE)
    for one in running:
        if one.began:
            with breaks("txn-021", "txn-026"):
                described = wire.describe_transaction(one.producer.transactional_id).must_succeed()
            row = described.struct.transaction_states[0]
            holds = {(each.topic, number) for each in row.topics for number in each.partitions}
            described.must(
                (row.transaction_state, row.producer_id, holds) == ("Ongoing", one.producer.id, set(one.began)),
                f"it is {row.transaction_state} with {sorted(holds)}; it must hold {sorted(one.began)}",
                f"{ROW}.topics",
            )

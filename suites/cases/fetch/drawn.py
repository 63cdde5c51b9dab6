"""Logs of every kind, read with drawn requests in every version: each row of each answer says what the log holds."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch._drawn_logs import DrawnLogs, learn
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.fetch_many import FetchedMany
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LOG_START_SINCE, EPOCHS_SINCE, ZSTD_SINCE, DIVERGING_SINCE, BY_ID_SINCE = 5, 9, 10, 12, 13
NOWHERE = UUID(int=0x5A5A)
PLENTY = 1 << 20
QUESTIONS = 80
REFUSED = {
    errors.OFFSET_OUT_OF_RANGE: "fetch-005",
    errors.FENCED_LEADER_EPOCH: "fetch-011",
    errors.UNKNOWN_LEADER_EPOCH: "fetch-011",
    errors.UNKNOWN_TOPIC_ID: "prot-018",
}
"""What is broken where a row is refused with this, or is not."""
APIS = {"Fetch": 4, "InitProducerId": 0, "DeleteRecords": 0, "Metadata": 7}


class Row:
    """One partition of a request; `log` is None where there is none of that name or number."""

    def __init__(self, place, offset, *, log=None, epoch=-1, last_epoch=-1, limit=PLENTY):
        self.place, self.offset, self.log = place, offset, log
        self.epoch, self.last_epoch, self.limit = epoch, last_epoch, limit

    def as_asked(self):
        """Its part of a Fetch request."""
        return {
            "partition": self.place[1],
            "current_leader_epoch": self.epoch,
            "fetch_offset": self.offset,
            "last_fetched_epoch": self.last_epoch,
            "partition_max_bytes": self.limit,
        }


@case(
    "fetch/log-read-in-every-way",
    guarantees=["fetch-002", "fetch-003", "fetch-005", "fetch-006", "fetch-011", "fetch-014", "txn-002", "rec-001"],
    needs=["topic-settings", "leaders"],
    apis=APIS,
    detects=["M16", "M37a", "M37b", "N53"],
)
def every_row_returns_what_the_log_holds(wire, topic_of, rng):
    """Whatever a log holds and however it is asked for, in each version of Fetch each partition of an answer MUST have
    its own error, or its own ends, stable offset, start and aborted transactions, and MUST return exactly the bytes at
    the position, as many as the limits allow; no other partition of the request changes that.

    Three logs, of which one is compressed anew and one given times by the broker; batches of records with null and
    empty parts, of two transactional producers and of none; the start moves. 60 drawn steps, 280 drawn requests.
    """
    drawn = DrawnLogs(wire, topic_of, rng)
    drawn.asked_between(ask_in_every_way, QUESTIONS)


def ask_in_every_way(drawn, questions):
    """Drawn requests, each in a drawn version."""
    wire, rng = drawn.wire, drawn.rng
    for log in drawn.logs:
        learn(wire, log)
    epochs = {log.place: wire.leader_epoch(*log.place) for log in drawn.logs}
    nowhere = wire.name("nowhere")
    for _ in range(questions):
        rows = [_row(rng, log, epochs[log.place]) for log in rng.sample(drawn.logs, rng.choice((1, 2, 3, 3)))]
        bad = ((nowhere, 0), (rng.choice(rows).place[0], 99))
        rows += [Row(place, 0) for place in bad if rng.random() < 0.25]
        rng.shuffle(rows)
        limits = {"committed": rng.random() < 0.5, "max_bytes": rng.choice((PLENTY, PLENTY, 1, 400))}
        _must_be_returned(_asked(drawn, rows, nowhere, **limits), rows, epochs, **limits)


def _row(rng, log, epoch):
    """From anywhere in the log or around it, with an epoch that is right, wrong or none."""
    around = (log.start - 1, log.start, log.stable, log.end, log.end + 1, log.end + 1_000)
    _, first, marker = rng.choice(log.aborted[-2:] or [(-1, log.start, log.end)])
    return Row(
        log.place,
        rng.choice((rng.choice(around), rng.randint(log.start, log.end), rng.randint(first, marker))),
        log=log,
        epoch=rng.choice((*[-1] * 5, *[epoch] * 3, epoch + 1, epoch + 7, max(epoch - 1, -1))),
        last_epoch=rng.choice((*[-1] * 5, epoch, epoch + 1)),
        limit=rng.choice((PLENTY, PLENTY, 1, 100, 700)),
    )


def _asked(drawn, rows, nowhere, *, committed, max_bytes):
    wire = drawn.wire
    ids = {row.place[0]: wire.topic_id(row.place[0]) if row.place[0] != nowhere else NOWHERE for row in rows}
    topics = [{"topic": row.place[0], "topic_id": ids[row.place[0]], "partitions": [row.as_asked()]} for row in rows]
    asked = request("Fetch", replica_id=-1, max_wait_ms=0, min_bytes=1, session_epoch=-1, topics=topics)
    asked.isolation_level, asked.max_bytes = int(committed), max_bytes
    answer = wire.ask_as(FetchedMany, asked, version=drawn.rng.choice(wire.versions("Fetch")), to=drawn.node)
    answer.topic_names = {topic_id: name for name, topic_id in ids.items()}
    return answer


def _must_be_returned(answer, rows, epochs, *, committed, max_bytes):
    """Row by row: the ones before have taken of the room what they were given, not what they might have been."""
    version, room, first = answer.version, max_bytes, True
    for row in rows:
        part = answer.of(*row.place)
        error, diverging = refusal(row, epochs.get(row.place, -1), version)
        if row.log and row.log.zstd and version < ZSTD_SINCE and part.error == errors.UNSUPPORTED_COMPRESSION_TYPE:
            room = None  # Apache Kafka counts what it read before it refused
            continue
        old = row.log and row.log.zstd and version < ZSTD_SINCE
        with breaks("fetch-014" if old and not error else REFUSED.get(error or part.error, "fetch-002")):
            if error:
                part.must_be_refused(error)
                held = answer.at(f"{part.row}.records")
                part.must(not held, f"refused, it holds {len(held or b'')} bytes of records", f"{part.row}.records")
                continue
            part.must_succeed()
        _must_have_ends(part, row.log, version)
        _must_diverge(part, diverging, version)
        if diverging:
            part.must_be_empty()
            continue
        _must_give(part, row, committed, room, first)
        _must_name_aborted(part, row, committed)
        room, first = room and max(room - len(part.raw), 0), first and not part.raw


def refusal(row, epoch, version):
    """The error of a row, and where the reader's past and the log part ways; epochs come before offsets."""
    if row.log is None:
        unknown = version >= BY_ID_SINCE and row.place[1] != 99
        return errors.UNKNOWN_TOPIC_ID if unknown else errors.UNKNOWN_TOPIC_OR_PARTITION, None
    if version >= EPOCHS_SINCE and row.epoch >= 0 and row.epoch != epoch:
        return errors.FENCED_LEADER_EPOCH if row.epoch < epoch else errors.UNKNOWN_LEADER_EPOCH, None
    if row.offset < row.log.start:
        return errors.OFFSET_OUT_OF_RANGE, None
    if version >= DIVERGING_SINCE and row.last_epoch >= 0:
        if row.last_epoch > epoch:
            return errors.OFFSET_OUT_OF_RANGE, None
        known, end = row.log.ended(row.last_epoch, epoch)
        return 0, (known, end) if known < row.last_epoch or end < row.offset else None
    return errors.OFFSET_OUT_OF_RANGE if row.offset > row.log.end else 0, None


@breaks("fetch-010", "txn-004")
def _must_have_ends(part, log, version):
    ends, wanted = (part.high_watermark, part.last_stable_offset), (log.end, log.stable)
    part.must(ends == wanted, f"its end and stable offset are {ends}; they must be {wanted}", part.row)
    if version >= LOG_START_SINCE:
        start = part.log_start_offset
        part.must(start == log.start, f"it begins at {start}; it must at {log.start}", part.row)


@breaks("repl-008")
def _must_diverge(part, wanted, version):
    if version >= DIVERGING_SINCE:
        returned = part.at(f"{part.row}.diverging_epoch")
        found = (returned.epoch, returned.end_offset)
        part.must(found == (wanted or (-1, -1)), f"its diverging epoch is {found}; it must be {wanted}", part.row)


@breaks("fetch-002", "fetch-003")
def _must_give(part, row, committed, room, first):
    """The bytes from the batch of the position on: a whole one at least where nothing came before or it fits.

    Where the room is not known (None) it may be none.
    """
    log = row.log
    due = [held for held in log.batches if held.last >= row.offset and held.base < log.readable(committed)]
    if not due:
        with breaks("txn-004" if row.offset < log.end else "fetch-005"):
            part.must_be_empty()
        return
    stored, least, raw = b"".join(held.bytes for held in due), len(due[0].bytes), part.raw
    where = f"{part.row}.records"
    part.must(stored.startswith(raw), "its bytes are not those of the log from this position on", where)
    if room is None:
        return
    limit = min(row.limit, room)
    if first or least <= limit:
        with breaks("fetch-006", "fetch-003"):
            part.must(len(raw) >= least, f"it holds {len(raw)} bytes; the batch at the position has {least}", where)
    most = max(limit, least if first else 0)
    with breaks("fetch-007"):
        part.must(len(raw) <= most, f"it holds {len(raw)} bytes; the limits let {most} through", where)


@breaks("txn-002", "txn-003")
def _must_name_aborted(part, row, committed):
    """Each that has records in what is given, and none that ended before; without isolation none."""
    given = {held.header.base_offset for held in part.batches}
    owns = [(held.producer, held.base) for held in row.log.batches if held.base in given and held.producer >= 0]
    behind = {(who, at): end for who, at, end in row.log.aborted if committed and end >= row.offset}
    due = {(who, at) for (who, at), end in behind.items() if any(one == who and at <= base < end for one, base in owns)}
    aborted = part.aborted
    part.must(
        due <= set(aborted) <= set(behind) and len(set(aborted)) == len(aborted),
        f"the aborted transactions are {aborted}; they must be {sorted(due)}, of {sorted(behind)} at most",
        f"{part.row}.aborted_transactions",
    )

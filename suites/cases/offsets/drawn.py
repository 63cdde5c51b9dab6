"""Logs of every kind, asked for offsets in drawn ways and in every version: each row says what the log holds."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch._drawn_logs import DrawnLogs, learn
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
COMMITTED_SINCE, EPOCHS_SINCE = 2, 4
QUESTIONS = 40
REFUSED = {
    errors.INVALID_REQUEST: "prot-020",
    errors.FENCED_LEADER_EPOCH: "offs-009",
    errors.UNKNOWN_LEADER_EPOCH: "offs-009",
}
"""What is broken where a row is refused with this, or is not."""
NUMBER_OF_NONE = 99
APIS = {"ListOffsets": 1, "OffsetForLeaderEpoch": 2, "InitProducerId": 0, "DeleteRecords": 0, "Metadata": 7}


class Row:
    """One partition of a request; `log` is None where there is none of that name or number."""

    def __init__(self, place, at, *, log=None, epoch=-1):
        self.place, self.at, self.log, self.epoch = place, at, log, epoch


@case(
    "offsets/asked-in-every-way",
    guarantees=["offs-001", "offs-002", "offs-003", "offs-004", "offs-005", "offs-007", "offs-009", "repl-008"],
    needs=["topic-settings", "leaders"],
    apis=APIS,
    detects=["M29b", "M30a", "M30b", "M30c"],
)
def every_row_names_what_the_log_holds(wire, topic_of, rng):
    """Whatever a log holds and however it is asked for, in each version of ListOffsets each partition of an answer
    MUST name the end, the stable end, the start, the newest record or the first one at or after a time, or say its own
    error; one that is named twice is refused, and no other for that. OffsetForLeaderEpoch MUST say where epochs ended.

    Three logs; batches of equal and unordered times, of two transactional producers and of none; the start moves. 60
    drawn steps, 140 drawn requests.
    """
    drawn = DrawnLogs(wire, topic_of, rng)
    drawn.asked_between(ask_in_every_way, QUESTIONS)


def ask_in_every_way(drawn, questions):
    """Drawn requests, each in a drawn version."""
    wire, rng = drawn.wire, drawn.rng
    for log in drawn.logs:
        learn(wire, log)
    now = {log.place: wire.leader_epoch(*log.place) for log in drawn.logs}
    nowhere = wire.name("nowhere")
    for _ in range(questions):
        version = rng.choice(wire.versions("ListOffsets"))
        rows = [_row(rng, log, now[log.place], version) for log in rng.sample(drawn.logs, rng.randint(1, 3))]
        rows += [rng.choice(rows)] if rng.random() < 0.2 else []
        bad = ((nowhere, 0), (rng.choice(rows).place[0], NUMBER_OF_NONE))
        rows += [Row(place, LATEST) for place in bad if rng.random() < 0.25]
        rng.shuffle(rows)
        committed = rng.random() < 0.5
        _must_name(_asked(drawn, rows, committed, version), rows, now, committed)
    _must_end(drawn, now, nowhere)


def _row(rng, log, epoch, version):
    """The ends, a time that a record has, one beside it, or one before or after all."""
    times = [record.timestamp for record in log.records()] or [1_000_000]
    real = rng.choice(times) + rng.choice((0, 0, 0, -1, 1, 250))
    named = [each for each, since in SINCE.items() if since <= version]
    at = rng.choice((real, real, real, 0, max(times) + 1, *named))
    return Row(log.place, at, log=log, epoch=rng.choice((-1, -1, -1, epoch, epoch + 1, epoch + 9, max(epoch - 1, -1))))


def _asked(drawn, rows, committed, version):
    topics: dict[str, list[dict[str, int]]] = {}
    for row in rows:
        part = {"partition_index": row.place[1], "current_leader_epoch": row.epoch, "timestamp": row.at}
        topics.setdefault(row.place[0], []).append(part)
    asked = request(
        "ListOffsets",
        replica_id=-1,
        isolation_level=int(committed),
        timeout_ms=10_000,
        topics=[{"name": name, "partitions": parts} for name, parts in topics.items()],
    )
    return drawn.wire.ask_as(Response, asked, version=version, to=drawn.node)


def _must_name(answer, rows, now, committed):
    version = answer.version
    found = {
        (topic.name, part.partition_index): (t, p, part)
        for t, topic in enumerate(answer.struct.topics)
        for p, part in enumerate(topic.partitions)
    }
    places = [row.place for row in rows]
    with breaks("prot-020"):
        right = found.keys() == set(places)
        answer.must(right, f"it answers for {sorted(found)}; it must for {sorted(places)}", "topics")
    for row in rows:
        t, p, part = found[row.place]
        twice = places.count(row.place) > 1
        code, wanted = _wanted(row, now.get(row.place, -1), committed and version >= COMMITTED_SINCE, version, twice)
        returned = (part.error_code, (part.offset, part.timestamp, part.leader_epoch))
        with breaks(_broken_by(row, part, code, wanted, committed and version >= COMMITTED_SINCE)):
            answer.must(
                returned in [(code, each) for each in wanted],
                f"for time {row.at} error, (offset, time, epoch) are {returned}; they must be {code}, one of {wanted}",
                f"topics[{t}].partitions[{p}]",
            )


def _broken_by(row, part, code, wanted, committed):
    """The guarantee that a row breaks which is not as it must be."""
    if code or part.error_code:
        return REFUSED.get(code or part.error_code, "offs-001")
    if (part.offset, part.timestamp) in [each[:2] for each in wanted]:
        return "offs-007"
    if row.at < 0:
        return "offs-005" if row.at == MAX_TIMESTAMP else "offs-001"
    if all(offset < 0 for offset, _, _ in _first_at(row.log, row.at)):
        return "offs-003"
    within = row.log.start <= part.offset < row.log.readable(committed)
    return "offs-002" if within or part.offset < 0 else "offs-004"


def _wanted(row, now, committed, version, twice):
    """The error, and the values allowed: offset, time and leader epoch, where one may be returned (KAFKA-7568)."""
    nothing = [(-1, -1, -1)]
    if twice:
        return errors.INVALID_REQUEST, nothing
    if row.log is None:
        return errors.UNKNOWN_TOPIC_OR_PARTITION, nothing
    if version >= EPOCHS_SINCE and row.epoch >= 0 and row.epoch != now:
        return errors.FENCED_LEADER_EPOCH if row.epoch < now else errors.UNKNOWN_LEADER_EPOCH, nothing
    log = row.log
    limit = log.readable(committed)
    if row.at == LATEST:
        named = [(limit, -1, now)]
    elif row.at in (EARLIEST, EARLIEST_LOCAL):
        named = [(log.start, -1, log.epochs(now)[0][0])]
    elif row.at == LATEST_TIERED:
        named = nothing
    else:
        found = _newest(log) if row.at == MAX_TIMESTAMP else _first_at(log, row.at)
        named = [each if -1 < each[0] < limit else nothing[0] for each in found]
    return 0, [*named, *((offset, time, -1) for offset, time, _ in named)]


def _timed(log, *, markers, deleted=False):
    """(offset, time, epoch) of the records; markers, and what lies below the start, are counted where it is open."""
    found = [
        (offset, time, held.epoch)
        for held in log.batches
        if markers or not held.marker
        for offset, time in held.times()
    ]
    return found if deleted else [each for each in found if each[0] >= log.start]


def _first_at(log, moment):
    """Whether a marker counts is open. Apache Kafka looks in the first segment that has a time so late, and nowhere
    else, though what made it so late may lie below the start: then it names none.
    """
    late = [[each for each in _timed(log, markers=markers) if each[1] >= moment] for markers in (False, True)]
    found = [each[0] if each else (-1, -1, -1) for each in late]
    hidden = any(time >= moment and offset < log.start for offset, time, _ in _timed(log, markers=True, deleted=True))
    return [*found, (-1, -1, -1)] if hidden else found


def _newest(log):
    """A record that has the newest time, of all or of those that are left, with the markers or without."""
    found = []
    for markers in (False, True):
        for deleted in (False, True):
            timed = _timed(log, markers=markers, deleted=deleted)
            newest = max((time for _, time, _ in timed), default=-1)
            found += [each for each in timed if each[1] == newest] or [(-1, -1, -1)]
    return found


@breaks("repl-008")
def _must_end(drawn, now, nowhere):
    """Where epochs ended, those that were, that are and that are to come, in every version."""
    wire, rng = drawn.wire, drawn.rng
    for version in wire.versions("OffsetForLeaderEpoch"):
        rows = []
        for log in drawn.logs:
            epoch = now[log.place]
            current = rng.choice((-1, -1, epoch, epoch + 1, max(epoch - 1, -1)))
            rows.append(Row(log.place, rng.randint(-1, epoch + 2), log=log, epoch=current))
        rows.append(Row((nowhere, 0), 0))
        topics = [
            {
                "topic": row.place[0],
                "partitions": [
                    {"partition": row.place[1], "current_leader_epoch": row.epoch, "leader_epoch": row.at},
                ],
            }
            for row in rows
        ]
        asked = request("OffsetForLeaderEpoch", replica_id=-1, topics=topics)
        answer = wire.ask_as(Response, asked, version=version, to=drawn.node)
        returned = {
            (topic.topic, part.partition): (part.error_code, part.leader_epoch, part.end_offset)
            for topic in answer.struct.topics
            for part in topic.partitions
        }
        wanted = {row.place: _ended(row, now.get(row.place, -1)) for row in rows}
        what = {row.place: row.at for row in rows}
        answer.must(
            returned == wanted, f"of {what} error, epoch and end are {returned}; they must be {wanted}", "topics"
        )


def _ended(row, now):
    """The epoch up to the one asked for that has written, and where the one after it began (KIP-101, KIP-320)."""
    if row.log is None:
        return errors.UNKNOWN_TOPIC_OR_PARTITION, -1, -1
    if row.epoch >= 0 and row.epoch != now:
        return errors.FENCED_LEADER_EPOCH if row.epoch < now else errors.UNKNOWN_LEADER_EPOCH, -1, -1
    epochs = row.log.epochs(now)
    if not 0 <= row.at <= now:
        return 0, -1, -1
    if row.at == now:
        return 0, now, row.log.end
    known = max((epoch for epoch, _ in epochs if epoch <= row.at), default=row.at)
    return 0, known, min(start for epoch, start in epochs if epoch > row.at)

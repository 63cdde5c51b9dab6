"""Partitions that several leader epochs write to, and what every answer about an epoch must be (KIP-101, KIP-320)."""

from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.fetch_many import FetchedMany
from brokertrial.wire import errors
from brokertrial.wire.messages import request

HOUR_MS = 3_600_000
APART = {"segment.ms": "60000", "retention.ms": "-1"}
"""Each batch is an hour younger than the one before: a segment of its own, which retention takes alone."""
EARLIEST, LATEST, NEWEST, EARLIEST_LOCAL = -2, -1, -3, -4
SINCE = {EARLIEST: 1, LATEST: 1, NEWEST: 7, EARLIEST_LOCAL: 8}
EPOCH_SINCE, DIVERGING_SINCE = 4, 12
OF_ITS_RECORD_SINCE = 9
"""Brokers that serve this version return the epoch of the newest record; 3.5 returned that of the leader."""
WITHIN_S, RETAINED_WITHIN_S = 20, 60
ROW = "topics[0].partitions[0]"
UNKNOWN = (-1, -1)


class EpochBatch:
    """A batch: its offsets, its times, and the leader epoch that its header shows."""

    def __init__(self, base, times):
        self.base, self.times, self.epoch = base, times, -1

    @property
    def last(self):
        return self.base + len(self.times) - 1


class EpochLog:
    """One partition."""

    def __init__(self, place):
        self.place, self.batches, self.start, self.end = place, [], 0, 0

    def epochs(self, now):
        """Epoch -> where it begins: of those that wrote what is left, and of the present one, though it wrote none."""
        began = {now: self.end}
        for one in reversed(self.batches):
            if one.last >= self.start:
                began[one.epoch] = max(one.base, self.start)
        return began

    def ended(self, asked, now):
        """The newest epoch up to the one asked for, and where the next one begins; an older one than all is itself."""
        began = self.epochs(now)
        if not 0 <= asked <= now:
            return UNKNOWN
        if asked == now:
            return now, self.end
        known = max((epoch for epoch in began if epoch <= asked), default=asked)
        return known, min(start for epoch, start in began.items() if epoch > asked)

    def epoch_of(self, offset, now):
        return max(((start, epoch) for epoch, start in self.epochs(now).items() if start <= offset))[1]

    def times(self):
        """(offset, time) of what can be read."""
        return [
            (one.base + at, time)
            for one in self.batches
            for at, time in enumerate(one.times)
            if one.base + at >= self.start
        ]


class EpochLogs:
    """The partitions of one topic, the steps that write and delete, and the questions."""

    def __init__(self, wire, topic_of, rng, *, partitions=3, always_reported=False):
        self.wire, self.rng, self.always_reported = wire, rng, always_reported
        self.topic = topic_of(partitions=partitions, configs=APART)
        self.logs = [EpochLog((self.topic, number)) for number in range(partitions)]
        self.clock = wire.now_ms() - 200 * HOUR_MS

    # -- steps -----------------------------------------------------------------------------------------------

    def write(self, log, batches):
        for _ in range(batches):
            self.clock += HOUR_MS
            times = [self.clock + 1_000 * at for at in range(self.rng.randint(1, 4))]
            self.wire.produce(self.topic, batch(at=times), log.place[1]).must_be_at(log.end)
            log.batches.append(EpochBatch(log.end, times))
            log.end += len(times)
        self._learn(log)

    def _learn(self, log):
        """The epochs of what was written, from the batches themselves; what is known already must stay."""
        new = [one for one in log.batches if one.last >= log.start]
        read = self.wire.read_all(*log.place, offset=log.start)
        epochs = {part.header.base_offset: part.header.leader_epoch for part in read.batches}
        wanted = [one.base for one in new]
        read.must(sorted(epochs) == wanted, f"its batches begin at {sorted(epochs)}; they must at {wanted}")
        for one in new:
            same = one.epoch in (-1, epochs[one.base])
            read.must(same, f"the batch at {one.base} has the epoch {epochs[one.base]}; it had {one.epoch}")
            one.epoch = epochs[one.base]

    def delete(self, log):
        """The start moves: to where an epoch begins or a record beside it, to anywhere, or to the end."""
        edges = [max(min(at, log.end), log.start) for one in log.batches for at in (one.base, one.base + 1)]
        to = self.rng.choice((*edges, self.rng.randint(log.start, log.end), log.end))
        said = -1 if to == log.end and self.rng.random() < 0.5 else to
        self.wire.delete_records(*log.place, offset=said).must_succeed()
        log.start = to

    def retain(self):
        """Retention takes whole segments of each log, maybe all of one; then it is off again."""
        held = sorted(one.times[0] for log in self.logs for one in log.batches[:-1] if one.last >= log.start)
        if not held:
            return
        limit = self.rng.choice(held) + HOUR_MS // 2
        for log in self.logs:
            log.start = max(log.start, min((one.base for one in log.batches if one.times[0] > limit), default=log.end))
        self._retention(str(self.wire.now_ms() - limit))
        self.wire.until(
            lambda: all(self.wire.log_start(*log.place) >= log.start for log in self.logs),
            within=RETAINED_WITHIN_S,
            what="the records that are due are deleted",
        )
        self._retention("-1")

    def _retention(self, limit):
        self.wire.change_configs(TOPIC, self.topic, [("retention.ms", SET, limit)]).must_succeed()

    # -- questions -------------------------------------------------------------------------------------------

    def must_be_returned(self):
        """Of each epoch that was, is or is to come where it ended, and of each kind of offset which epoch it has."""
        for log in self.logs:
            now = self.wire.leader_epoch(*log.place)
            if now < 0:
                self.wire.not_applicable("the broker shows no leader epochs")
            for asked in range(-1, now + 3):
                self._must_end(log, asked)
            self.must_be_named(log)
            if max(self.wire.versions("Fetch"), default=0) >= DIVERGING_SINCE:
                for asked in range(now + 3):
                    self._must_fit(log, asked)

    def must_be_named(self, log):
        for at in (EARLIEST, LATEST, NEWEST, EARLIEST_LOCAL, *(time for _, time in log.times())):
            self._must_name(log, at)

    def _must_end(self, log, asked):
        version, shift = self.rng.choice(self.wire.versions("OffsetForLeaderEpoch")), self.rng.choice((None, 0, 1, -1))

        def check():
            now = self.wire.leader_epoch(*log.place)
            believed = -1 if shift is None else max(now + shift, -1)
            how = {"epoch": asked, "current_epoch": believed, "version": version}
            answer = self.wire.offset_for_leader_epoch(*log.place, **how)
            row = answer.struct.topics[0].partitions[0]
            found = row.error_code, row.leader_epoch, row.end_offset
            refused = _refused(believed, now)
            wanted = (refused, *(UNKNOWN if refused else log.ended(asked, now)))
            answer.must(
                found == wanted,
                f"of {log.place[1]}, epoch {asked}, error, epoch and end are {found}; they must be {wanted}",
                ROW,
            )

        self.wire.eventually(check, within=WITHIN_S)

    def _must_name(self, log, at):
        served = [each for each in self.wire.versions("ListOffsets") if each >= SINCE.get(at, 1)]
        if not served or (at == NEWEST and not log.times()):
            return
        version = self.rng.choice(served)

        def check():
            now = self.wire.leader_epoch(*log.place)
            answer = self.wire.list_offsets(*log.place, at=at, version=version)
            row = answer.must_succeed().struct.topics[0].partitions[0]
            offset = self._named(log, at)
            epoch = now if at == LATEST else log.epoch_of(offset, now)
            fitting = (-1,) if version < EPOCH_SINCE else (epoch,) if self.always_reported else (epoch, -1)
            if at == NEWEST and max(self.wire.versions("ListOffsets")) < OF_ITS_RECORD_SINCE:
                fitting = (*fitting, now)
            answer.must(
                row.offset == offset and row.leader_epoch in fitting,
                f"of {log.place[1]} at {at} offset and epoch are {row.offset}, {row.leader_epoch}; "
                f"they must be {offset}, {epoch}",
                ROW,
            )

        self.wire.eventually(check, within=WITHIN_S)

    def _named(self, log, at):
        if at == NEWEST:
            return log.times()[-1][0]
        if at in (EARLIEST, EARLIEST_LOCAL):
            return log.start
        return log.end if at == LATEST else next(offset for offset, time in log.times() if time == at)

    def _must_fit(self, log, asked):
        """A reader whose last record has this epoch, at some offset: it goes on, or is answered with where it diverged
        from the log.
        """
        at = self.rng.choice((log.start - 1, log.start, log.end, log.end + 1, self.rng.randint(log.start, log.end)))
        if at < 0:
            return
        version = self.rng.choice([each for each in self.wire.versions("Fetch") if each >= DIVERGING_SINCE])

        def check():
            now = self.wire.leader_epoch(*log.place)
            answer = self._fetched(log, at, asked, version)
            part = answer.of(*log.place)
            known, end = log.ended(asked, now)
            if known < 0 or at < log.start:
                part.must_be_refused(errors.OFFSET_OUT_OF_RANGE)
                return
            parted = known < asked or end < at
            diverging = part.must_succeed().at(f"{part.row}.diverging_epoch")
            found, wanted = (diverging.epoch, diverging.end_offset), (known, end) if parted else UNKNOWN
            said = f"{log.place[1]} at {at}, last epoch {asked}: its diverging epoch is {found}; it must be {wanted}"
            part.must(found == wanted, said, part.row)
            first = [held.header.last_offset >= at for held in part.batches[:1]]
            due = [True] if at < log.end and not parted else []
            part.must(first == due, f"{log.place[1]} at {at}: the batches given are {part.offsets}", part.row)

        self.wire.eventually(check, within=WITHIN_S)

    def _fetched(self, log, at, asked, version):
        topic, number = log.place
        part = {
            "partition": number,
            "current_leader_epoch": -1,
            "fetch_offset": at,
            "last_fetched_epoch": asked,
            "partition_max_bytes": 1 << 20,
        }
        topics = [{"topic": topic, "topic_id": self.wire.topic_id(topic), "partitions": [part]}]
        sent = request("Fetch", replica_id=-1, max_wait_ms=0, min_bytes=1, session_epoch=-1, topics=topics)
        sent.max_bytes = 1 << 20
        answer = self.wire.ask_as(FetchedMany, sent, version=version, to=lambda: self.wire.leader(*log.place))
        answer.topic_names = {self.wire.topic_id(topic): topic}
        return answer


def _refused(believed, now):
    if believed < 0 or believed == now:
        return errors.NONE
    return errors.FENCED_LEADER_EPOCH if believed < now else errors.UNKNOWN_LEADER_EPOCH

"""The logs of partitions to which requests waited: what must be there, where, and once."""

from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors

UNSURE = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER)


@breaks("idem-008")
def sent_again(wire, part, restarted):
    """Each batch that was not acknowledged, as its producer would; of several those behind the last that was.

    A node that was started anew may know the newest batch of a producer alone.
    """
    topic, index = part.place
    log = wire.read_all(topic, index)
    there = {record.value: record.offset for record in log.records}
    passed = {id(write.after) for write in part.writes if write.after is not None and write.offset is not None}
    follows = {id(write.after) for write in part.writes if write.after is not None and write.value in there}
    for write in part.writes:
        if write.offset is not None or id(write) in passed:
            continue
        answer = wire.produce(topic, write.made, index)
        if id(write) in follows and restarted is not None and answer.error in UNSURE:
            continue
        if write.value in there:
            answer.must_be_at(there[write.value])
        part.acked[write.value] = answer.must_succeed().offset


@breaks("repl-010")
def must_be_whole(wire, part):
    """Everything once, acknowledged or read where it is, in the order of its connection, alike on every replica."""
    topic, index = part.place
    wire.refresh_metadata(topic)
    start = wire.log_start(topic, index)
    log = wire.read_all(topic, index, offset=start)
    found = [(offset, value) for offset, value in zip(log.offsets, log.values, strict=True) if offset >= start]
    at = dict(found)
    with breaks("adm-011"):
        log.must(start in part.cuts and start >= part.cut_to, f"it begins at {start}; it must at one of {part.cuts}")
    ours = {write.value for write in part.writes} | {*part.acked} | {*part.held} | part.loose
    values = [value for _, value in found]
    with breaks("idem-008"):
        log.must(len({*values}) == len(values) and {*values} <= ours, f"it holds {values}; each must be there once")
    if not part.stable:
        log.must_have_offsets(range(start, start + len(found)))
    known = {**dict(enumerate(part.held)), **{offset: value for value, offset in part.acked.items()}}
    for what in (known, part.read):
        wrong = {offset: (value, at.get(offset)) for offset, value in what.items() if at.get(offset) != value}
        wrong = {offset: both for offset, both in wrong.items() if offset >= start}
        log.must(not wrong, f"at these offsets it was answered first, and now holds second: {wrong}")
    order = {value: offset for offset, value in found}
    for write in part.writes:
        if write.after is not None and {write.value, write.after.value} <= order.keys():
            log.must(order[write.after.value] < order[write.value], f"{write.value!r} is before what was sent first")
    for node in part.after:
        wire.until(lambda node=node: _has_all(wire, part, node, found), within=WITHIN_S, what=f"node {node} has all")


@breaks("repl-010")
def _has_all(wire, part, node, found):
    """A follower that knows less is asked again; what it has must be the same. It may have deleted, when it led, what
    the others have not."""
    start = max(*part.cuts, found[0][0] if found else 0)
    found = [each for each in found if each[0] >= start]
    seen = wire.fetch(*part.place, offset=start, to=node, max_wait_ms=0, retry=False)
    if seen.error:
        return False
    held = [(record.offset, record.value) for record in seen.records if record.offset >= start]
    seen.must(held == found[: len(held)], f"node {node} holds {held}; it must hold {found}", f"{seen.row}.records")
    return len(held) == len(found)

"""wrong-ack-offset: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """A guarded producer was told an offset at which nobody found the record, while somebody found it elsewhere."""
    for row in facts.sent:
        once = sum(1 for each in facts.sent if each.value == row.value) == 1
        told = row.outcome == "ok" and row.offset is not None
        sightings = [each for each in facts.seen if each.value == row.value and same_place(each, row)]
        astray = bool(sightings) and all(each.offset != row.offset for each in sightings)
        if once and told and astray and facts.durable(row.client) and facts.guarded(row.client):
            client = facts.clients[row.client]
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "offset_b": min(each.offset or 0 for each in sightings),
                "value_a": row.value,
                "op_a": row.op,
                "op_b": min(each.op for each in sightings),
                "attribution": "broker" if client.library == "wire" or client.retries == 0 else "unknown",
            }


def inject_wrong_ack_offset(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.change(one, offset=10**6)
    return w.told("wrong-ack-offset", one, offset_a=10**6, offset_b=one.offset)


def test_an_acknowledgement_of_an_offset_where_the_record_is_not(told):
    tale = told(nodes=1)
    send = tale.send(10, at=9)
    poll = tale.read((5, 10))
    found = tale.only("wrong-ack-offset")

    assert (found.offsets, found.values, found.operations) == ((9, 5), (10,), (send, poll))


def test_a_producer_that_may_store_twice_may_have_two_copies(story):
    tale = story()
    tale.producer("p", idempotence=False, retries=3)
    tale.reader()
    tale.send(10, at=9)
    tale.read((5, 10))

    assert tale.anomalies("wrong-ack-offset") == []

"""The order of appends and the offsets that they are given."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch


@case("ordering/one-connection", guarantee="ord-003", smoke=True, detects=["M05"])
def pipelined_batches_are_appended_in_the_order_sent(wire, topic):
    """Produce requests that are under way together on one connection MUST be appended in the order sent.

    Twenty of them with acks=1, small and large in turn, so that a broker that works on several at once shows it. One
    more that all in-sync replicas acknowledge: only then may all of them be read.
    """
    made = [batch(*[f"{number}" * (4_000 if number % 3 else 1)] * (number % 4 + 1)) for number in range(20)]
    pending = [wire.produce(topic, part, acks=1, wait=False) for part in made]
    offsets = [answer.offset for answer in pending]

    sizes = [number % 4 + 1 for number in range(20)]
    due = [sum(sizes[:number]) for number in range(20)]
    wire.must(offsets == sorted(offsets), f"the offsets are {offsets}; they must rise in the order sent", *pending[:5])
    wire.must(len(set(offsets)) == 20, f"the offsets are {offsets}; one was given out twice", *pending[:5])
    wire.produce(topic, batch("end"))
    log = wire.read_all(topic)
    firsts = [log.values[at] for at in due]
    wire.must(
        [value[:2] for value in firsts] == [(f"{n}" * 2)[:2].encode() if n % 3 else f"{n}".encode() for n in range(20)],
        "the log holds the batches in another order than that of sending",
        log.answers[-1],
    )


@case("ordering/offsets-rise", guarantee="ord-004", detects=["M07b"])
def every_append_is_given_a_higher_offset(wire, topic):
    """The offset given to a batch MUST be above that of every batch acknowledged before it was sent.

    Over three connections in turn; the log holds each batch where its answer said.
    """
    end = 0
    for number in range(12):
        answer = wire.produce(topic, batch(f"{number}a", f"{number}b"), via=f"c{number % 3}")
        answer.must(answer.offset >= end, f"it was given offset {answer.offset}; offsets up to {end - 1} are taken")
        end = answer.offset + 2
        wire.fetch(topic, offset=answer.offset).must_hold(f"{number}a", f"{number}b")


@case("ordering/offsets-are-dense", guarantee="ord-004", level="should", detects=["M08"])
def offsets_are_dense(wire, topic):
    """Without transactions and compaction offsets SHOULD be dense: 0, 1, 2 ... without a hole."""
    for answer in [wire.produce(topic, batch("a", "b"), wait=False) for _ in range(15)]:
        answer.must_succeed()
    wire.read_all(topic).must_have_offsets(range(30))

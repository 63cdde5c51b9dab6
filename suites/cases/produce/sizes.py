"""How large a batch may be."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

LIMIT = 20_000


@case("produce/largest-batch", guarantee="prod-006", needs=["topic-settings"], detects=["M40a"])
def the_topic_says_how_large_a_batch_may_be(wire, topic_of):
    """A batch larger than the topic's max.message.bytes MUST be refused (10); one of exactly that size MUST be
    accepted.

    The size is that of the batch as it is sent, compressed or not: a small one may decompress to far more than the
    limit.
    """
    topic = topic_of(configs={"max.message.bytes": str(LIMIT)})
    wire.produce(topic, _of_size(LIMIT)).must_be_at(0)
    wire.produce(topic, _of_size(LIMIT + 1)).must_be_refused(errors.MESSAGE_TOO_LARGE)
    wire.produce(topic, batch(*["zeros" * 2_000] * 20, compression="gzip")).must_be_at(1)
    wire.produce(topic, _of_size(LIMIT - 1)).must_be_at(21)
    wire.list_offsets(topic, at="latest").must_name(offset=22)


@case("produce/topic-limit-beats-the-default", guarantee="prod-006", needs=["topic-settings"], detects=["M40a"])
def a_topic_may_allow_more_or_less_than_the_default(wire, topic_of):
    """A topic's own max.message.bytes MUST beat the broker's default of about one mebibyte, upwards and downwards."""
    large, small = topic_of(what="large", configs={"max.message.bytes": "3000000"}), topic_of(what="plain")
    wire.produce(large, _of_size(2_000_000)).must_be_at(0)
    wire.produce(large, _of_size(3_000_001)).must_be_refused(errors.MESSAGE_TOO_LARGE)
    if (default := wire.setting("message.max.bytes")) == "1048588":
        wire.produce(small, _of_size(int(default))).must_be_at(0)
        wire.produce(small, _of_size(int(default) + 1)).must_be_refused(errors.MESSAGE_TOO_LARGE)


def _of_size(size):
    """An uncompressed batch of exactly so many bytes."""
    over = len(batch(b"x" * size)) - size
    made = batch(b"x" * (size - over))
    return made if len(made) == size else batch(b"x" * (size - over + size - len(made)))

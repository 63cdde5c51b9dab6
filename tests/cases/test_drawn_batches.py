"""The model of what a partition knows of a transactional producer."""

import pytest

from brokertrial.suites.cases.transactions._drawn_batches import WRAP, SeenProducer, WrittenBatch


@pytest.fixture
def seen():
    """Six batches of epoch 2, the last of which goes over the end of the sequences; the first is no longer known."""
    known, kept = SeenProducer(), [(0, 1), (2, 2), (3, 3), (4, 4), (5, WRAP - 2), (WRAP - 1, 0)]
    known.epoch = 2
    known.batches = [WrittenBatch(b"", first, last, 10 + number) for number, (first, last) in enumerate(kept)]
    return known


@pytest.mark.parametrize(
    ("epoch", "first", "count", "offset"),
    [(2, 4, 1, 13), (2, WRAP - 1, 2, 15), (2, 4, 2, None), (2, 0, 2, None), (1, 4, 1, None), (3, 4, 1, None)],
)
def test_one_of_the_five_newest_batches_is_known_by_its_sequences(seen, epoch, first, count, offset):
    again = seen.written(epoch, first, count)
    assert (again and again.offset) == offset

"""How many of the examples begin."""

import pytest


@pytest.fixture
def told(story):
    """One idempotent producer p and one reader r on a cluster of three nodes."""

    def begin(**header):
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        return tale

    return begin


@pytest.fixture
def four_sent(told):
    """The same with a reader c of committed records, and 10 to 13 at the offsets 0 to 3."""

    def begin(**header):
        tale = told(**header)
        tale.reader("c", isolation="read_committed")
        for value in (10, 11, 12, 13):
            tale.send(value, at=value - 10)
        return tale

    return begin


@pytest.fixture
def transactional(story):
    """A transactional producer p, a reader u of everything and a reader c of what is committed."""

    def begin(**header):
        tale = story(**header)
        tale.producer("p", transactional_id="tx")
        tale.reader("u", isolation="read_uncommitted")
        tale.reader("c", isolation="read_committed")
        return tale

    return begin

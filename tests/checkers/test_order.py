"""The order of streams and of producers, within one poll and across polls."""

import pytest


@pytest.fixture
def told(story):
    def begin(**header):
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        tale.reader("c", isolation="read_committed")
        for value in (10, 11, 12, 13):
            tale.send(value, at=value - 10)
        return tale

    return begin


def test_a_new_stream_may_begin_anywhere(told):
    tale = told()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((0, 10), stream=2)
    tale.read((2, 12), stream=3, start=None)

    assert tale.anomalies("poll-skip", "nonmonotonic-poll") == []


def test_a_seek_may_go_back(told):
    tale = told()
    tale.read((0, 10), (1, 11))
    tale.read((0, 10), (1, 11), stream=2)

    assert tale.anomalies("nonmonotonic-poll", "poll-skip") == []


def test_two_partitions_have_two_orders(told):
    tale = told()
    tale.read((5, 10), partition=0, start=5)
    tale.read((0, 11), partition=1)

    assert tale.anomalies("nonmonotonic-poll", "poll-skip") == []


# nonmonotonic-send

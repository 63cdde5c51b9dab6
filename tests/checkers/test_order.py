"""The order of streams and of producers, within one poll and across polls."""


def test_a_new_stream_may_begin_anywhere(four_sent):
    tale = four_sent()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((0, 10), stream=2)
    tale.read((2, 12), stream=3, start=None)

    assert tale.anomalies("poll-skip", "nonmonotonic-poll") == []


def test_a_seek_may_go_back(four_sent):
    tale = four_sent()
    tale.read((0, 10), (1, 11))
    tale.read((0, 10), (1, 11), stream=2)

    assert tale.anomalies("nonmonotonic-poll", "poll-skip") == []


def test_two_partitions_have_two_orders(four_sent):
    tale = four_sent()
    tale.read((5, 10), partition=0, start=5)
    tale.read((0, 11), partition=1)

    assert tale.anomalies("nonmonotonic-poll", "poll-skip") == []


# nonmonotonic-send

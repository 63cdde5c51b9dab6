"""The leader's books: who is late, and who comes into the in-sync set again."""

from __future__ import annotations

from brokertrial.reference_impl.replica.leading import Leading

ME, STEADY, OTHER = 1, 2, 3
LAG_S = 10.0
ALIVE = {(STEADY, -1), (OTHER, -1)}


def leading() -> Leading:
    return Leading(ME, [ME, STEADY, OTHER], [ME, STEADY, OTHER], 1, epoch_start=0, now_s=0.0)


def fetched(books: Leading, replica: int, offset: int, log_end: int, now_s: float) -> None:
    books.fetched(replica, 0, offset, log_end, now_s, -1)


def proposed(books: Leading, log_end: int, now_s: float) -> tuple[int, ...] | None:
    found = books.proposal(0, log_end, now_s, LAG_S, ALIVE)
    return None if found is None else found.isr


def test_who_is_silent_is_left_out_once_and_comes_back_on_what_it_asks_for() -> None:
    books = leading()
    fetched(books, STEADY, 5, 5, 11.0)
    assert proposed(books, 5, 11.0) == (ME, STEADY)
    books.settled([ME, STEADY, OTHER], [ME, STEADY], 2, 11.0)
    assert proposed(books, 5, 11.1) is None, "what it had before is no news"
    fetched(books, OTHER, 5, 5, 12.0)
    assert proposed(books, 5, 12.0) == (ME, STEADY, OTHER)


def test_who_is_one_request_behind_a_busy_leader_is_not_late() -> None:
    """Kafka: who has what there was at its last request was caught up then (KAFKA-1546)."""
    books = leading()
    for second in range(1, 30):
        for replica in (STEADY, OTHER):
            fetched(books, replica, 10 * (second - 1), 10 * second, float(second))
        assert proposed(books, 10 * second, float(second)) is None


def test_who_stays_a_request_behind_without_getting_on_is_late() -> None:
    books = leading()
    for second in range(1, 13):
        fetched(books, STEADY, 10 * second, 10 * second, float(second))
        fetched(books, OTHER, 5, 10 * second, float(second))
    assert proposed(books, 120, 12.0) == (ME, STEADY)

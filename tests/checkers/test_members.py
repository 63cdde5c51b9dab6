"""Groups: where a successor resumes, whose commits count, generations and orphans."""

import pytest

from brokertrial.histories.rows import Membership

MINUTE = 60_000_000_000


@pytest.fixture
def group(story):
    tale = story()
    tale.producer("p")
    tale.reader("r")
    for member in ("m1", "m2"):
        tale.reader(member, group="g", auto_commit=False, protocol="classic")
        tale.rows[-1].mode = "subscribe"
    for value in range(6):
        tale.send(10 + value, at=value)
    tale.read(*((value, 10 + value) for value in range(6)))
    return tale


def owns(tale, member, since, until=None, generation=-1, partition=0):
    tale.rows.append(
        Membership(group="g", member=member, client=member, generation=generation, topic="t", partition=partition,
                   from_ns=since, until_ns=until)
    )  # fmt: skip


def commit(tale, offset, client="m1", kind="commit", **fields):
    return tale.op(kind, client, group="g", committed_offset=offset, **fields)


def takes_over(tale, *offsets):
    now = tale.op("subscribe", "m2") * 10
    owns(tale, "m2", now)
    return tale.read(*((offset, 10 + offset) for offset in offsets), client="m2", stream=9, start=None)


def test_what_was_committed_is_given_again(group):
    done = commit(group, 3)
    again = takes_over(group, 1, 2, 3)
    found = group.only("group-repeated")

    assert (found.offsets, found.operations, found.group) == ((1, 3), (done, again), "g")
    assert "2 record(s) re-delivered" in found.sentence


def test_what_was_never_committed_is_skipped(group):
    done = commit(group, 2)
    began = takes_over(group, 4, 5)
    found = group.only("group-skipped")

    assert (found.offsets, found.operations, found.group) == ((2, 4), (done, began), "g")
    assert "2 record(s) skipped" in found.sentence


@pytest.mark.parametrize("check", ["group-repeated", "group-skipped"])
def test_a_successor_resumes_at_the_last_commit(group, check):
    commit(group, 2)
    takes_over(group, 2, 3)
    judged = group.judge(check)

    assert (judged.anomalies, judged.judged) == ([], [check])


def test_a_commit_without_an_answer_may_have_gone_back(group):
    commit(group, 3)
    commit(group, 1, outcome="info")
    takes_over(group, 1, 2)

    assert group.anomalies("group-repeated") == []


def test_a_commit_without_an_answer_may_have_gone_on(group):
    commit(group, 2)
    commit(group, 4, outcome="info")
    takes_over(group, 4, 5)

    assert group.anomalies("group-skipped") == []


def test_a_commit_after_the_member_was_told_may_come_too_late(group):
    owns(group, "m2", 0)
    commit(group, 3)
    group.read((1, 11), client="m2", stream=9, start=None)

    assert group.anomalies("group-repeated") == []


@pytest.mark.parametrize(
    ("why", "check"),
    [(why, check) for why in ("auto", "deleted", "seek") for check in ("group-repeated", "group-skipped")],
)
def test_who_goes_its_own_way_is_not_judged(group, why, check):
    commit(group, 3)
    takes_over(group, *((1, 2) if check == "group-repeated" else (4, 5)))
    if why == "auto":
        group.rows[2].auto_commit = True
    elif why == "deleted":
        group.op("delete_group", group="g", topic=None, partition=None)
    else:
        group.op("seek", "m2")

    assert check in group.judge(check).not_applicable


@pytest.mark.parametrize(
    ("generation", "known_at", "protocol", "count"),
    [
        pytest.param(4, 1, "classic", 1, id="a newer generation had begun"),
        pytest.param(5, 1, "classic", 0, id="of the newest generation"),
        pytest.param(4, 10**9, "classic", 0, id="the newer one began later"),
        pytest.param(4, 1, "consumer", 0, id="members of the new protocol have epochs of their own"),
    ],
)
@pytest.mark.parametrize("kind", ["commit", "commit-seen"])
def test_who_was_expelled_commits_no_more(group, generation, known_at, protocol, count, kind):
    group.rows[2].protocol = protocol
    owns(group, "m2", known_at, generation=5)
    done = commit(group, 3, kind=kind, generation=generation)
    found = group.anomalies("zombie-commit")

    assert [(each.offsets, each.operations[:1]) for each in found] == [((3,), (done,))] * count


def test_what_passed_on_the_wire_is_no_second_commit_of_the_client(group):
    commit(group, 3)
    commit(group, 5, kind="commit-seen", generation=1)
    takes_over(group, 3, 4)

    assert group.anomalies("group-repeated") == []


def test_a_commit_that_names_no_generation_says_nothing(group):
    owns(group, "m2", 1, generation=5)
    commit(group, 3)

    assert "zombie-commit" in group.judge("zombie-commit").not_applicable


@pytest.mark.parametrize(
    ("member", "generation", "at", "count"),
    [("m1", 4, 20, 1), ("m1", 6, 20, 0), ("m2", 4, 20, 0), ("m1", 4, 10, 0)],
)
def test_a_member_is_not_told_of_older_generations(group, member, generation, at, count):
    owns(group, "m1", 10, generation=5)
    owns(group, member, at, generation=generation, partition=1)

    assert len(group.anomalies("generation-regression")) == count


def test_without_the_wire_generations_are_not_known(group):
    owns(group, "m1", 10)

    assert "generation-regression" in group.judge("generation-regression").not_applicable


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_partition_that_nobody_takes_over(group, protocol):
    group.rows[2].protocol = protocol
    owns(group, "m1", 10, generation=5, partition=1)
    owns(group, "m2", 10, 20, generation=5)
    owns(group, "m1", MINUTE + 30, generation=6, partition=2)
    found = group.only("orphan-partition")

    assert (found.partition, found.attribution) == (0, "broker" if protocol == "consumer" else "unknown")


@pytest.mark.parametrize(
    ("until", "next_at"),
    [
        pytest.param(None, MINUTE + 30, id="it has an owner"),
        pytest.param(20, MINUTE - 30, id="the group was not at peace"),
    ],
)
def test_no_orphan(group, until, next_at):
    owns(group, "m1", 10, generation=5, partition=1)
    owns(group, "m2", 10, until, generation=5)
    owns(group, "m1", next_at, generation=6, partition=2)
    judged = group.judge("orphan-partition")

    assert judged.anomalies == []
    assert bool(judged.judged) == (until is None)

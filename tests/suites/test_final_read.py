"""Everything is read from the leader of now: one that was frozen serves an old log until it hears that it is none."""

from types import SimpleNamespace

import pytest

from brokertrial.histories.clock import now_ns
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.probe.failures import NoResponse, Unclear
from brokertrial.suites.trials import final_read
from brokertrial.suites.trials.final_read import FinalRead

PLACE = ("t", 0)
OLD, NEW = (1, 0), (2, 1)
"""Leader and epoch, as nodes tell them."""
ENDS = {OLD: 78, NEW: 1_167}


class Cluster:
    """What the final read asks of a probe. `says`: what each node answers, one after the other, the last for good.

    The routes come from node 1, the one that was frozen.
    """

    def __init__(self, leaderless=False, **says):
        self.case_context = SimpleNamespace(leaderless=leaderless)
        self.says = {int(node[-1]): list(answers) for node, answers in says.items()}
        self.nodes = sorted(self.says)
        self.asked = []

    def versions(self, api):
        return range(14)

    def metadata(self, *topics, to, version):
        self.asked.append(to)
        answers = self.says[to or 1]
        told = answers.pop(0) if len(answers) > 1 else answers[0]
        if told is None:
            raise NoResponse("no answer", ())
        part = SimpleNamespace(partition_index=0, leader_id=told[0], leader_epoch=told[1])
        return SimpleNamespace(
            error=0, struct=SimpleNamespace(topics=[SimpleNamespace(name=name, partitions=[part]) for name in topics])
        )

    def log_end(self, topic, partition, isolation=""):
        return ENDS[self.says[1][0] or NEW]

    def log_start(self, topic, partition):
        return self.log_end(topic, partition)

    def leader_epoch(self, topic, partition):
        return -1

    def refresh_metadata(self):
        """`nodes` are always known."""

    def drop_lines(self, node=None):
        """There are none."""

    def rest(self, seconds):
        """Time passes by itself."""


@pytest.fixture
def read(tmp_path, monkeypatch):
    def reading(cluster, limit_ns=final_read.AGREEMENT_NS):
        monkeypatch.setattr(final_read, "AGREEMENT_NS", limit_ns)
        monkeypatch.setattr(final_read, "AGREEMENT_AT_LEAST_NS", min(limit_ns, final_read.AGREEMENT_AT_LEAST_NS))
        with Recorder.create(tmp_path / f"history-{id(cluster)}", Header(case="c", target="t", nodes=3)) as recorder:
            final = FinalRead(cluster, recorder)
            final.everything([PLACE], 60.0, transactions=False)
        return final

    return reading


def test_a_leader_that_was_frozen_is_not_believed_until_it_agrees(read):
    final = read(Cluster(node1=[OLD] * 5 + [NEW], node2=[NEW], node3=[NEW]))
    assert final.ends == {PLACE: ENDS[NEW]}
    assert final.incomplete == {}


def test_the_others_may_be_the_late_ones(read):
    final = read(Cluster(node1=[NEW], node2=[OLD, OLD, NEW], node3=[NEW]))
    assert final.ends == {PLACE: ENDS[NEW]}


def test_what_they_never_agree_on_is_not_read(read):
    final = read(Cluster(node1=[OLD], node2=[NEW], node3=[NEW]), limit_ns=10_000_000)
    assert final.ends == {}
    assert final.incomplete == {
        PLACE: "nodes disagree on its leader and epoch: (2, 1) by node 3, (2, 1) by node 2, (1, 0) by node 1"
    }


def test_a_node_that_says_nothing_is_waited_for_and_then_done_without(read):
    final = read(Cluster(node1=[NEW], node2=[NEW], node3=[None, None, NEW]))
    assert final.ends == {PLACE: ENDS[NEW]}
    final = read(Cluster(node1=[NEW], node2=[NEW], node3=[None]), limit_ns=10_000_000)
    assert final.ends == {PLACE: ENDS[NEW]}


def test_without_leaders_there_is_nothing_to_agree_on(read):
    cluster = Cluster(leaderless=True, node1=[OLD], node2=[NEW], node3=[(3, 0)])
    assert read(cluster).ends == {PLACE: ENDS[OLD]}
    assert cluster.asked == []


class Dead(Cluster):
    """It names a leader, and then is gone."""

    def log_start(self, topic, partition):
        raise Unclear("unreachable", "nobody listens")


@pytest.mark.parametrize("cluster", [Dead(node1=[NEW]), Cluster(node1=[NEW], node2=[None])])
def test_who_is_dead_is_not_waited_for(tmp_path, cluster):
    """A trial waited for more than a minute for a broker that had died when all was over."""
    began = now_ns()
    with Recorder.create(tmp_path / "h", Header(case="c", target="t", nodes=3)) as recorder:
        final = FinalRead(cluster, recorder, gone=lambda: True)
        final.everything([PLACE], 60.0, transactions=False)
    assert now_ns() - began < 5_000_000_000
    assert bool(final.incomplete) is isinstance(cluster, Dead)

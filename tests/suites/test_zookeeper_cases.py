"""Cases about ZooKeeper, on a real one: each passes, and fails when the nodes that it saw are not as they must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from brokertrial import RunOptions, run
from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.reader import History
from brokertrial.suites.case import by_id, own_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.probe.cluster_settings import ClusterSettings
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.default_topics import DefaultTopicsProbe
from brokertrial.suites.probe.ensemble_members import ROOT
from brokertrial.suites.probe.exchanger import TranscriptEntry
from brokertrial.suites.probe.failures import TranscriptMismatch
from brokertrial.suites.probe.replay import ReplayExchanger
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.target_condition import WELL
from brokertrial.suites.probe.transcript import read_transcript
from brokertrial.suites.probe.znode import Znode, znode_row, znode_text
from tests.targets.test_kafka import need_kafka

Edit = Callable[[Znode], Znode]


def of(path: str, **changes: object) -> Edit:
    """Changes fields of the nodes whose path ends so."""
    return lambda node: msgspec.structs.replace(node, **changes) if node.exists and node.path.endswith(path) else node


def told(path: str, **fields: object) -> Edit:
    """Changes fields of the JSON object that such a node holds."""

    def edit(node: Znode) -> Znode:
        if not node.exists or not node.path.endswith(path):
            return node
        return msgspec.structs.replace(node, data=msgspec.json.encode({**node.fields, **fields}).decode())

    return edit


def later(edit: Edit) -> Edit:
    """The same, but not of what is seen of a path first."""
    met: set[str] = set()

    def edited(node: Znode) -> Znode:
        first = node.path not in met
        met.add(node.path)
        return node if first else edit(node)

    return edited


def outside(path: str, **changes: object) -> Edit:
    """Changes fields of nodes that are not below the chroot of the cluster."""
    return lambda node: of(path, **changes)(node) if node.path.startswith(ROOT) else node


def littered(node: Znode) -> Znode:
    """The root of the ensemble, with what a cluster wrote beside its chroot."""
    return msgspec.structs.replace(node, children=(*node.children, "brokers"))


def sooner(node: Znode) -> Znode:
    """Made in a transaction before the one that it was made in."""
    return msgspec.structs.replace(node, czxid=node.czxid - 1)


TWINS: dict[str, list[Edit]] = {
    "zookeeper/second-broker-of-one-id": [
        later(of("/ids/1", czxid=7)),
        of("node:/brokers/ids/1", exists=False),
        of("node:/brokers/ids/1", ephemeral_owner=7),
        told("node:/brokers/ids/1", port=1),
        of("children:/brokers/ids", children=("1", "2")),
    ],
    "zookeeper/clusters-beside-each-other": [
        later(lambda node: littered(node) if node.path == f"{ROOT}/" else node),
        outside("/brokers/ids/1", exists=False),
        outside("/cluster/id", data='{"id": "another"}'),
        outside("/brokers/topics", children=()),
        later(of("/ids/1", czxid=7)),
    ],
    "zookeeper/brokers-are-registered": [of("/ids/1", ephemeral_owner=0), told("/ids/1", port=1)],
    "zookeeper/registered-again-after-its-session": [of("/ids/1", czxid=7), of("/ids/1", ephemeral_owner=7)],
    "zookeeper/one-live-controller": [of("/controller", ephemeral_owner=0), of("/ids/1", ephemeral_owner=7)],
    "zookeeper/epoch-of-each-election": [
        of("/controller_epoch", data="3"),
        of("/controller_epoch", mzxid=7),
        later(of("node:/controller_epoch", data="3")),
        later(lambda node: sooner(node) if node.path == "node:/controller" else node),
    ],
    "zookeeper/topics-are-as-told": [of("/state", ephemeral_owner=7), told("/state", leader_epoch=70)],
    "zookeeper/deletion-removes-everything": [of("/partitions/1/state", exists=False)],
    "zookeeper/cluster-id-stays": [of("/cluster/id", ephemeral_owner=7), told("/cluster/id", id="another")],
    "zookeeper/leaders-outlive-the-ensemble": [],
}


OF_AN_ENSEMBLE: dict[str, list[Edit]] = {
    "zookeeper/deposed-controller-writes-nothing": [
        later(of("node:/controller_epoch", data="7")),
        later(lambda node: told("/partitions/3/state", controller_epoch=0)(node) if "node:" in node.path else node),
        later(told("/partitions/3/state", leader_epoch=-1)),
    ],
    "zookeeper/one-server-stands-still": [of("node:/controller_epoch", mzxid=7), of("/ids/2", exists=False)],
}


def test_a_look_survives_the_history() -> None:
    seen = Znode("/brokers/ids/1", True, '{"port": 9092}', 3, 10, 12, 0x1000A, ("a", "b"))
    for each in (seen, Znode("/controller", False), Znode("node:/controller", False), Znode("session:", True, "lost")):
        text = msgspec.json.encode(each).decode()
        assert znode_text(znode_row(text, 5)) == text


def test_numbers_and_objects_are_read_from_what_is_there() -> None:
    assert Znode("/controller_epoch", True, "12").number == 12 and Znode("/controller_epoch", False).number == -1
    assert Znode("/controller", True, '{"brokerid": 2}').fields == {"brokerid": 2}
    assert Znode("/x", True, "[1]").fields == {} and Znode("/x", True, "no json").fields == {}


def played(history: History, edit: Edit | None) -> Verdict:
    """What the case says of the stored looks, each edited."""
    tape = read_transcript(history)
    for entry in tape:
        if edit is not None and entry.kind == "znode":
            entry.text = _edited(entry, edit)
    settings = history.header.settings
    scene = msgspec.convert(settings["scene"], CaseContext)
    case, exchanger = by_id()[history.header.case], ReplayExchanger(tape)
    try:
        wire = DefaultTopicsProbe(exchanger, scene, [("", 0)] * settings["addresses"])
        wire.set_up = msgspec.convert(settings["set_up"], ClusterSettings)
        return attempt(case, wire, exchanger, {}, lambda: True, lambda: WELL, closing_look).verdict
    except TranscriptMismatch:
        return Verdict.FAIL  # it went on waiting for what it did not see


def _edited(entry: TranscriptEntry, edit: Edit) -> str:
    return msgspec.json.encode(edit(msgspec.json.decode(entry.text, type=Znode))).decode()


@pytest.mark.kafka
@pytest.mark.slow
def test_each_case_passes_and_fails_of_a_misbehaving_twin(tmp_path: Path) -> None:
    need_kafka()
    assert set(TWINS) == {
        case.id for case in own_cases() if "zookeeper" in case.needs and "three-nodes" not in case.needs
    }
    _pass_and_fail("kafka:3.9.2?mode=zk", TWINS, tmp_path)


@pytest.mark.kafka
@pytest.mark.slow
def test_what_an_ensemble_shows_between_two_looks_is_judged(tmp_path: Path) -> None:
    need_kafka()
    _pass_and_fail("kafka:3.9.2?mode=zk&nodes=3&ensemble=3", OF_AN_ENSEMBLE, tmp_path)


def _pass_and_fail(target: str, twins: dict[str, list[Edit]], tmp_path: Path) -> None:
    result = run(RunOptions(target, select=tuple(twins), run_dir=str(tmp_path / "run")))
    assert {one.case: one.verdict for one in result.results} == dict.fromkeys(twins, Verdict.PASS)
    for one in result.results:
        history = History.open(tmp_path / "run" / one.history)
        assert played(history, None) is Verdict.PASS, one.case
        for number, edit in enumerate(twins[one.case]):
            assert played(history, edit) is Verdict.FAIL, f"{one.case}: edit {number} passes"

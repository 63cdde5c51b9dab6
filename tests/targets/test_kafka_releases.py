"""What is known of each Apache Kafka release before one is started: its quorum, its log, what it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.running.support import TargetSupport, broken_claims
from brokertrial.suites.since import number
from brokertrial.suites.targets import UnknownTarget, open_target
from brokertrial.suites.targets.apache import offered, settings
from brokertrial.suites.targets.apache.jars import KafkaRelease
from brokertrial.suites.targets.apache.settings import ClusterMember
from brokertrial.suites.targets.apache.storage import as_its_own, logging_flags
from brokertrial.suites.targets.base import FEATURES
from brokertrial.wire.apis import by_name

GROUPS, SHARES = "consumer-protocol", "share-groups"
MEMBERS = [ClusterMember(1, 9001, 9101), ClusterMember(2, 9002, 9102), ClusterMember(3, 9003, 9103)]


@pytest.mark.parametrize(
    ("version", "finalized", "lacks"),
    [
        ("3.3.2", {"metadata.version": 7}, {GROUPS, SHARES}),
        ("3.9.2", {"metadata.version": 21, "kraft.version": 1}, {GROUPS, SHARES}),
        ("3.9.2", None, {GROUPS, SHARES}),
        ("4.0.0", {"group.version": 1, "transaction.version": 2}, {SHARES}),
        ("4.0.0", {"group.version": 1, "share.version": 1}, {SHARES}),  # 4.0 knows no such feature
        ("4.0.0", {"transaction.version": 2}, {GROUPS, SHARES}),  # an operator has not turned it on
        ("4.0.1", None, {SHARES}),
        ("4.1.2", {"group.version": 1}, {SHARES}),
        ("4.1.2", {"group.version": 1, "share.version": 1}, set()),  # the preview, turned on
        ("4.1.2", None, {SHARES}),
        ("4.2.2", {"group.version": 1, "share.version": 1}, set()),
        ("4.4.0", {"group.version": 1, "share.version": 2}, set()),
        ("4.4.0", {"group.version": 1}, {SHARES}),
        ("4.4.0", None, set()),
    ],
)
def test_a_release_claims_what_it_offers(version: str, finalized: dict[str, int] | None, lacks: set[str]) -> None:
    claims = offered.claims(number(version), finalized)
    assert set(claims) == set(FEATURES)
    assert {feature for feature, claimed in claims.items() if not claimed} == lacks


def test_no_claim_of_4_0_is_broken_by_4_0_itself() -> None:
    """4.0.0 has KIP-848 and no share groups: it was accused of claiming what it never claimed."""
    finalized = {"group.version": 1, "transaction.version": 2, "kraft.version": 1, "metadata.version": 25}
    apis = dict.fromkeys(range(76), (0, 20))  # ShareGroupHeartbeat is 76
    assert by_name("ShareGroupHeartbeat").key == 76
    assert broken_claims(offered.claims((4, 0, 0), finalized), TargetSupport(apis, finalized, frozenset(), 1)) == {}
    without = {key: versions for key, versions in apis.items() if key != by_name("EndTxn").key}
    assert set(
        broken_claims(offered.claims((4, 0, 0), finalized), TargetSupport(without, finalized, frozenset(), 1))
    ) == {"transactions"}


@pytest.mark.parametrize(
    ("version", "dynamic", "log4j_2"),
    [("3.3.2", False, False), ("3.8.1", False, False), ("3.9.0", True, False), ("4.0.0", True, True)],
)
def test_what_a_release_is_set_up_with(version: str, dynamic: bool, log4j_2: bool, tmp_path: Path) -> None:
    release = KafkaRelease(version, ())
    assert (release.has_dynamic_quorum, release.has_log4j_2) == (dynamic, log4j_2)
    assert ("log4j2" in logging_flags(release, tmp_path)[0]) is log4j_2


def test_a_static_quorum_names_its_voters() -> None:
    lines = settings.text(MEMBERS[1], MEMBERS, "/data", static_quorum=True).splitlines()
    assert "controller.quorum.voters=1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103" in lines
    assert "advertised.listeners=PLAINTEXT://127.0.0.1:9002" in lines, "3.8 refuses an advertised controller"
    assert not [line for line in lines if line.startswith("controller.quorum.bootstrap.servers")]


def test_a_dynamic_quorum_names_none() -> None:
    lines = settings.text(MEMBERS[1], MEMBERS, "/data").splitlines()
    assert "controller.quorum.bootstrap.servers=127.0.0.1:9101,127.0.0.1:9102,127.0.0.1:9103" in lines
    assert not [line for line in lines if line.startswith("controller.quorum.voters")]


@pytest.mark.parametrize("static_quorum", [True, False])
def test_controllers_apart_are_no_brokers(static_quorum: bool) -> None:
    broker, controller = ClusterMember(0, 9001, 0), ClusterMember(100, 0, 9101)
    cluster = [broker, controller]
    of_one, of_other = (
        dict(line.split("=", 1) for line in settings.text(each, cluster, "/data", static_quorum=static_quorum).split())
        for each in cluster
    )
    quorum = {"controller.quorum.voters": "100@127.0.0.1:9101"}
    if not static_quorum:
        quorum = {"controller.quorum.bootstrap.servers": "127.0.0.1:9101"}
    assert quorum.items() <= of_one.items() and quorum.items() <= of_other.items()
    assert (of_one["process.roles"], of_other["process.roles"]) == ("broker", "controller")
    assert of_one["listeners"] == of_one["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9001"
    assert of_other["listeners"] == "CONTROLLER://127.0.0.1:9101"
    assert of_one["default.replication.factor"] == of_other["default.replication.factor"] == "1", "of one broker"
    assert "inter.broker.listener.name" not in of_other
    looks_each_ms = "unclean.leader.election.interval.ms"
    assert (of_one.get(looks_each_ms), of_other[looks_each_ms]) == (None, "1000"), (
        "what cases set reaches brokers alone"
    )


def test_a_copied_folder_gets_its_own_name() -> None:
    old, new = "#\ncluster.id=c\nversion=1\nnode.id=1\n", "cluster.id=c\ndirectory.id=d1\nnode.id=1\nversion=1\n"
    assert as_its_own(old, 2, "d2") == "#\ncluster.id=c\nversion=1\nnode.id=2\n"
    assert as_its_own(new, 3, "d3") == "cluster.id=c\ndirectory.id=d3\nnode.id=3\nversion=1\n"


def test_kraft_before_3_3_is_refused(tmp_path: Path) -> None:
    assert open_target("kafka:3.3.2", tmp_path).release_number == (3, 3, 2)
    with pytest.raises(UnknownTarget, match=r"from Kafka 3\.3 on"):
        open_target("kafka:3.2.3", tmp_path)

"""Target strings: what is understood, what is refused, and with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suggestion import nearest, nearest_or_all
from brokertrial.suites.targets import TargetProblem, UnknownTarget, known_targets, open_target
from brokertrial.suites.targets.address import Address


def test_a_string_is_taken_apart() -> None:
    address = Address.parse("kafka:4.4.0?nodes=3")
    assert (address.scheme, address.where, address.options) == ("kafka", "4.4.0", {"nodes": "3"})


def test_a_value_may_hold_an_equals_sign_and_a_colon() -> None:
    address = Address.parse("reference?mutant=M05:every=3&without=EndTxn")
    assert address.options == {"mutant": "M05:every=3", "without": "EndTxn"}


def test_every_target_is_found_by_its_file() -> None:
    assert set(known_targets()) == {"bootstrap", "file", "image", "kafka", "mock", "reference"}
    for kind in known_targets().values():
        assert kind.summary and kind.examples


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kafak:4.4.0", "Did you mean kafka?"),
        ("refrence", "Did you mean reference?"),
        ("zzz", "Known: bootstrap, file, image, kafka, mock, reference."),
        ("", "Known: bootstrap"),
        ("kafka:4.4.0?node=3", "no option `node`.\n  Did you mean nodes"),
        ("kafka:4.4.0?nodes=2", "nodes is 1 or 3, not 2"),
        ("kafka:4.4.0?nodes", "`nodes` after the question mark is not option=value"),
        ("kafka:4.4.0?nodes=1&nodes=3", "option nodes is there twice"),
        ("kafka", "such as `kafka:4.4.0`"),
        ("kafka:/no/such/folder", "neither a version such as 4.4.0 nor a folder"),
        ("bootstrap:localhost", "`localhost` is not HOST:PORT"),
        ("bootstrap:localhost:99999", "is not HOST:PORT"),
        ("bootstrap:", "is not HOST:PORT"),
        ("mock:3", "`mock?nodes=1`"),
        ("mock?nodes=0", "from 1 to 9"),
        ("file:", "such as `file:broker.toml`"),
        ("file:/no/such/broker.toml", "no such file"),
        ("reference:three", "not `three`"),
        ("image:", "needs an image, such as `image:apache/kafka:4.4.0`"),
        ("image:apache/kafka:4.4.0?nodes=2", "nodes is 1 or 3, not 2"),
        ("image:apache/kafka:4.4.0?cpus=half", "cpus is a number"),
        ("image:/no/such/broker.toml", "no such file"),
    ],
)
def test_what_is_not_understood_is_named_with_a_way_out(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget) as refused:
        open_target(text, tmp_path)
    assert words in str(refused.value)
    assert refused.value.exit_status == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kafka:3.2.3", r"from Kafka 3\.3 on\.\n  Try `kafka:3\.2\.3\?mode=zk`"),
        ("kafka:4.0.0?mode=zk", r"mode=zk is for Kafka 2\.8 to 3\.9"),
        ("kafka:2.7.2?mode=zk", r"mode=zk is for Kafka 2\.8 to 3\.9"),
        ("kafka:3.9.2?mode=raft", r"mode is kraft or zk, not raft"),
        ("kafka:3.9.2?mode=zk&ensemble=2", r"ensemble is 1 or 3, not 2"),
        ("kafka:3.9.2?ensemble=3", r"an ensemble goes with mode=zk"),
        ("kafka:4.4.0?controllers=2", r"controllers is 1 or 3, not 2"),
        ("kafka:3.9.2?mode=zk&controllers=1", r"controllers go with mode=kraft"),
    ],
)
def test_a_mode_goes_with_its_releases(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget, match=words) as refused:
        open_target(text, tmp_path)
    assert refused.value.exit_status == 4


def test_opening_starts_nothing(tmp_path: Path) -> None:
    target = open_target("kafka:4.4.0?nodes=3", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert {"started", "kill", "pause", "restart", "nodes", "logs"} <= target.capabilities
    target.stop()


def test_all_problems_are_of_one_kind() -> None:
    assert issubclass(UnknownTarget, TargetProblem)


def test_nearest_lists_everything_when_nothing_is_near() -> None:
    assert nearest_or_all("qqqq", ["alpha", "beta"]) == "Known: alpha, beta."
    assert nearest("qqqq", ["alpha", "beta"]) == ""
    assert (
        nearest("ALPA", ["alpha", "beta"]) == "Did you mean alpha?" and nearest("et", ["beta"]) == "Did you mean beta?"
    )

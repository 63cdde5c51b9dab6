"""Brokers in containers: what can be told without an engine. With one: tests/targets/test_containers.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.capabilities import FORGETTING
from brokertrial.suites.targets import TargetNotAvailable, UnknownTarget, open_target
from brokertrial.suites.targets.apache.settings import ClusterMember
from brokertrial.suites.targets.brokerfile import BrokerFile
from brokertrial.suites.targets.containers import recipes

NODE = 'start = ["node", "--data", "{data}", "--node-id", "{node}", "--port", "{port}"]'


def test_settings_become_variables_as_the_official_image_reads_them() -> None:
    one = ClusterMember(1, 9092, 9093)
    told = recipes.apache_kafka(one, [one], "an-id", ["max.a-b_c=7"]).environment
    assert told["KAFKA_NODE_ID"] == "1" and told["CLUSTER_ID"] == "an-id"
    assert told["KAFKA_LISTENERS"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert told["KAFKA_CONTROLLER_QUORUM_VOTERS"] == "1@127.0.0.1:9093"
    assert told["KAFKA_MAX_A___B__C"] == "7"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "neither `start` nor `environment` has {port}"),
        (NODE + '\nactions = { kill = ["x"] }', "`actions` is not for a container"),
        (NODE + "\nports = [9092]", "`ports` is not for a container"),
        ('environment = { PORT = "{prot}" }', "{prot}, which nothing is filled in for"),
        ("environment = { PORT = 7 }", '`environment` is a table of NAME = "text"'),
    ],
)
def test_a_mistake_in_the_file_is_one_clear_sentence(tmp_path: Path, more: str, words: str) -> None:
    (tmp_path / "broker.toml").write_text(f'image = "vendor/broker:1"\n{more}\n')
    with pytest.raises(UnknownTarget) as refused:
        BrokerFile.read(tmp_path / "broker.toml")
    assert words in str(refused.value)


def test_each_scheme_names_the_other_where_it_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(f'image = "vendor/broker:1"\n{NODE}\nvolatile = true\n')
    with pytest.raises(UnknownTarget, match=f"Try `image:{path}`"):
        open_target(f"file:{path}", tmp_path / "run")
    target = open_target(f"image:{path}", tmp_path / "run")
    assert target.volatile and not FORGETTING & target.capabilities and "pause" in target.capabilities
    with pytest.raises(UnknownTarget, match="nodes is for the file to say"):
        open_target(f"image:{path}?nodes=3", tmp_path / "run")
    path.write_text('start = ["broker", "{port}"]')
    with pytest.raises(UnknownTarget, match="names no `image`"):
        open_target(f"image:{path}", tmp_path / "run")


def test_without_an_engine_it_says_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(TargetNotAvailable, match="no container engine answers") as refused:
        open_target("image:apache/kafka:4.4.0", tmp_path / "run").start()
    assert "DOCKER_HOST" in refused.value.hint and refused.value.exit_status == 7

"""The script that turns a release's message definitions into schema text, on definitions made for the test."""

import json
import zipfile
from pathlib import Path

import pytest

from brokertrial.wire import apis, schema_from_kafka, schema_text
from brokertrial.wire.schema_text import Versions, parts

REQUEST = """// a comment, as Kafka's files have
{ "apiKey": 900, "type": "request", "listeners": ["broker"], "name": "ThingRequest", "validVersions": "1-3",
  "flexibleVersions": "2+", "latestVersionUnstable": true, "fields": [
    { "name": "TimeoutMs", "type": "int32", "versions": "0+", "default": "0x10", "ignorable": true },
    { "name": "Names", "type": "[]string", "versions": "0+", "nullableVersions": "2+", "default": "null" },
    { "name": "Gone", "type": "int8", "versions": "0" },
    { "name": "Parts", "type": "[]Part", "versions": "2+", "fields": [
      { "name": "Leader", "type": "Shared", "versions": "3+", "taggedVersions": "3+", "tag": 4 },
      { "name": "Records", "type": "records", "versions": "2+", "nullableVersions": "2+" }]}],
  "commonStructs": [ { "name": "Shared", "versions": "0+", "fields": [
    { "name": "NodeId", "type": "int32", "versions": "0+", "default": "-1", "entityType": "brokerId" }]}] }"""
RESPONSE = """{ "apiKey": 900, "type": "response", "name": "ThingResponse", "validVersions": "1-3",
  "flexibleVersions": "2+", "fields": [] }"""
REMOVED = json.dumps({"apiKey": 4, "type": "request", "name": "OldRequest", "validVersions": "none"})
EXPECTED = """api 900 Thing  request 1-3  response 1-3  flexible 2+  unstable 3  listeners broker

request
  timeout_ms   int32            default 16  ignorable
  names        []string?2+      default null
  parts[]                   2+
    leader{}                3+  tag 4
      node_id  int32            default -1
    records    records?

response
"""


def test_definitions_become_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "kafka.jar", "w") as jar:
        for name, text in (("ThingRequest", REQUEST), ("ThingResponse", RESPONSE), ("OldRequest", REMOVED)):
            jar.writestr(f"common/message/{name}.json", text)
    texts = schema_from_kafka.schema_texts(schema_from_kafka.read_definitions([tmp_path]))
    assert texts == {"thing.txt": EXPECTED}


def test_text_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thing.txt").write_text(EXPECTED)
    monkeypatch.setattr(schema_text, "FOLDER", tmp_path)
    part = parts.__wrapped__("Thing")["request"]
    timeout, names, inner = part.fields
    assert part.versions == Versions(1, 3) and 2 in part.flexible and 1 not in part.flexible
    assert (timeout.default, timeout.ignorable, timeout.versions) == ("16", True, Versions(1, 3))
    assert names.array and names.kind == "string" and names.nullable == Versions(2, 3)
    leader, records = inner.fields
    assert (leader.tag, leader.versions, leader.fields[0].default) == (4, Versions(3, 3), "-1")
    assert records.nullable == Versions(2, 3)


def test_errors_text_is_python() -> None:
    scope: dict[str, object] = {}
    rows = [(-1, "UNKNOWN_SERVER_ERROR", False), (6, "NOT_LEADER_OR_FOLLOWER", True)]
    exec(schema_from_kafka.errors_text(rows), scope)
    assert scope["UNKNOWN_SERVER_ERROR"] == -1 and scope["RETRIABLE_CODES"] == frozenset({6})


def test_the_release_in_the_tree() -> None:
    assert len(apis.ALL) == 91
    produce = apis.by_name("Produce")
    assert (produce.key, produce.min_version, produce.max_version) == (0, 3, 13)
    assert apis.by_name("InitProducerId").newest == 5 and apis.by_name("InitProducerId").max_version == 6
    assert apis.by_name("OffsetDelete").request_header_version(0) == 1
    assert apis.data_versions("ConsumerProtocolSubscription") == Versions(0, 3)

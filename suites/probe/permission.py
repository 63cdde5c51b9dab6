"""What this client was not permitted to do. A refusal for want of permission is no breach of a promise of Kafka's.

But it is one of an API that is required, where the same client was permitted the very same before in this run, and on
brokers that the suite started itself without an authorizer.
"""

from __future__ import annotations

from collections.abc import Collection

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.rendering import errors_in
from brokertrial.suites.running.requirements import AREAS
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct

RESOURCES = {
    errors.TOPIC_AUTHORIZATION_FAILED: "Topic",
    errors.GROUP_AUTHORIZATION_FAILED: "Group",
    errors.CLUSTER_AUTHORIZATION_FAILED: "Cluster",
    errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalId",
    errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationToken",
    errors.SASL_AUTHENTICATION_FAILED: "Login",
}
OPERATIONS = {
    **dict.fromkeys(("Produce", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"), "Write"),
    **dict.fromkeys(("TxnOffsetCommit",), "Write"),
    **dict.fromkeys(("Fetch", "OffsetCommit", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"), "Read"),
    **dict.fromkeys(("ConsumerGroupHeartbeat", "DescribeProducers"), "Read"),
    **dict.fromkeys(("DeleteTopics", "DeleteRecords", "DeleteGroups", "OffsetDelete"), "Delete"),
    **dict.fromkeys(("CreatePartitions", "ElectLeaders", "AlterPartitionReassignments"), "Alter"),
    **dict.fromkeys(("AlterConfigs", "IncrementalAlterConfigs"), "AlterConfigs"),
    "CreateTopics": "Create",
    "DescribeConfigs": "DescribeConfigs",
}
"""Kafka's table "Operations and Resources on Protocols"; what it does not name is Describe."""
CONFIG_RESOURCES = {2: "a topic", 4: "a broker", 32: "a group"}


class Permissions:
    """What was permitted and what was not; `permitted` and `required` are what is known when a case begins."""

    def __init__(self, permitted: Collection[str], required: Collection[str], *, no_authorizer: bool = False) -> None:
        self.permitted = set(permitted)
        self._no_authorizer = no_authorizer
        self.denied: dict[str, str] = {}
        """What was asked for -> which permission it wants."""
        self.held_against: dict[str, str] = {}
        """As `denied`, of what is required, or was permitted before."""
        self._required = required
        self._excused: dict[int, str] = {}  # exchange -> the permission for want of which it was refused

    def heard(self, asked: PendingExchange) -> None:
        """Takes in an answer."""
        assert asked.answer is not None
        thing = what(asked.request)
        codes = [code for _, code in errors_in(asked.answer)]
        if (code := next((code for code in codes if code in RESOURCES), None)) is not None:
            operation = OPERATIONS.get(asked.request._api, "Describe")
            told = f"{RESOURCES[code]}: {operation} ({thing}, {errors.name(code)})"
            if self._no_authorizer or thing in self.permitted or self._is_required(thing):
                self.held_against[thing] = told
            else:
                self._excused[asked.number] = self.denied.setdefault(thing, told)
        elif not codes:
            self.permitted.add(thing)
            self.denied.pop(thing, None)

    def excuse(self, exchanges: Collection[int]) -> str:
        """The permission for want of which these exchanges went wrong; empty where that is no excuse."""
        return next((self._excused[number] for number in exchanges if number in self._excused), "")

    def _is_required(self, thing: str) -> bool:
        api = thing.partition(" ")[0]
        areas = [name for name, area in AREAS.items() if api in area.apis]
        if thing.endswith("transactional id"):
            areas = ["transactions"]
        elif api == "InitProducerId":
            areas = ["idempotence"]
        return any(name in self._required for name in areas)


def what(request: Struct) -> str:
    """What a request asks for, as finely as permissions differ: the API, with the kind of resource where needed."""
    api = request._api
    names = {field.name for field in request._fields}
    if api in ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs"):
        kinds = sorted({CONFIG_RESOURCES.get(row.resource_type, "something") for row in request.resources})
        return f"{api} of {' and '.join(kinds)}" if kinds else api
    if api == "FindCoordinator" and request.key_type == 1:
        return f"{api} of a transactional id"
    if "transactional_id" in names and api in ("Produce", "InitProducerId") and request.transactional_id:
        return f"{api} with a transactional id"
    return str(api)


def wants(denied: Collection[str], apis: Collection[str]) -> str:
    """The first of what was denied that a trial with these APIs cannot do without; empty where there is none."""
    for thing in denied:
        api, _, kind = thing.partition(" ")
        if api in apis and (not kind or (kind.endswith("transactional id") and "EndTxn" in apis)):
            return thing
    return ""

"""What a target can do or have done to it: the words of `needs=` in a case, and of what a target states.

    CAPABILITIES["kill"].need      what a case asks for       "killing a node"
    CAPABILITIES["kill"].stated    what a target says by it   "one node can be killed as by `kill -9`"

`brokertrial doctor --target` tries what is stated (suites/targets/doctor.py); a run compares it with what its cases
need (suites/running/support.py).
"""

from __future__ import annotations

from dataclasses import dataclass

NETWORK = "network"
"""That of which the target must be started anew, each node in a network namespace."""
FORGETTING = frozenset({"kill", "terminate", "restart"})
"""What a target that keeps nothing on a disk cannot be asked for: nobody could tell a loss from its design."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One word; at least one of the two texts is there."""

    need: str = ""
    """What a case asks for; empty where no case can ask for it."""
    stated: str = ""
    """What a target says by it; empty where a run finds it out from what the brokers offer."""
    by_request: bool = False
    """Had wherever CreateTopics is offered."""


CAPABILITIES: dict[str, Capability] = {
    "started": Capability(
        "a broker that the suite started itself",
        "the suite started it: nothing else lives on it, and its settings are known",
    ),
    "kill": Capability("killing a node", "one node can be killed as by `kill -9`"),
    "terminate": Capability("asking a node to stop", "one node can be asked to stop"),
    "pause": Capability("pausing a node", "one node can be frozen and thawed"),
    "restart": Capability("restarting a node", "a stopped node can be started again on its port with its data"),
    "nodes": Capability("more than one node", "it has more than one node"),
    NETWORK: Capability(
        "cutting nodes off from each other (`brokertrial doctor` says what that takes)",
        "its nodes can be cut off from each other: they can live in network namespaces",
    ),
    "bandwidth": Capability(
        "making a node's line narrow (`brokertrial doctor` says what that takes)",
        "a node's line can be made narrow (Toxiproxy, or tc's tbf)",
    ),
    "latency": Capability(
        "making a node's line long (`brokertrial doctor` says what that takes)",
        "what a node sends and gets can be delayed (Toxiproxy, or tc's netem)",
    ),
    "toxiproxy": Capability(
        "a Toxiproxy before the nodes (`brokertrial doctor` says what that takes)",
        "bytes between nodes and clients can be sliced, swallowed and cut off (Toxiproxy)",
    ),
    "netem": Capability(
        "reordering packets (`brokertrial doctor` says what that takes)",
        "packets of a node can be reordered (tc's netem)",
    ),
    "three-nodes": Capability("at least three nodes"),
    "leaders": Capability("partitions that have one leader"),
    "proxy": Capability("links through the fault proxy"),
    "create_topics": Capability("CreateTopics", "topics are made by request, not only on first use", by_request=True),
    "partitions": Capability("a topic with a chosen number of partitions", by_request=True),
    "topic-settings": Capability("a topic with chosen settings", by_request=True),
    "compaction": Capability("log compaction", by_request=True),
    "settings": Capability(
        "changing topic and broker settings",
        "settings of the broker, or of a topic that is there, can be changed",
    ),
    "chosen-settings": Capability(
        "starting the brokers again with other settings",
        "a node can be started again with settings that a case chooses",
    ),
    "logs": Capability("the broker's log lines", "the broker's own log lines can be shown"),
    "zookeeper": Capability(
        "a ZooKeeper that can be read", "its cluster keeps its state in a ZooKeeper that can be read"
    ),
    "version": Capability(stated="the broker says which version it is"),
}
NEEDS = {name: capability.need for name, capability in CAPABILITIES.items() if capability.need}
STATED = {name: capability.stated for name, capability in CAPABILITIES.items() if capability.stated}

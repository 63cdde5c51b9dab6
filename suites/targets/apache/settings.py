"""Broker settings for a trial: everything that Kafka does by a clock is done soon, everything else as by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """One node of the cluster: its id and its two ports on this machine. Without one of these it is no broker, or no
    controller."""

    node_id: int
    port: int
    controller_port: int
    host: str = "127.0.0.1"
    """Of its listeners."""
    peer_port: int = 0
    """Of a listener for the other brokers alone; 0: they use that of the clients."""
    advertised: tuple[str, int] | None = None
    """Where clients are told to find it, if that is not its listener."""

    @property
    def address(self) -> tuple[str, int]:
        """Where clients find it, or brokers where it is a controller alone."""
        return self.advertised or (self.host, self.port or self.controller_port)


ZOOKEEPER_SESSION_MS = 4_000
"""Kafka's default is 18 s. Much shorter ones end on a busy machine although nothing has failed."""
_OF_CONTROLLERS = "unclean.leader.election.interval.ms=1000"
"""Of those apart: what cases start nodes with reaches brokers alone."""
_TIMERS = """
num.network.threads=2
num.io.threads=4
background.threads=2
log.cleaner.dedupe.buffer.size=2097152
offsets.topic.segment.bytes=1048576
transaction.state.log.segment.bytes=1048576
share.coordinator.state.topic.segment.bytes=1048576
auto.create.topics.enable=false
unclean.leader.election.enable=false
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=200
group.consumer.heartbeat.interval.ms=500
group.share.min.session.timeout.ms=1000
group.share.session.timeout.ms=6000
group.share.min.heartbeat.interval.ms=200
group.share.heartbeat.interval.ms=500
group.share.min.record.lock.duration.ms=1000
replica.lag.time.max.ms=3000
replica.fetch.wait.max.ms=100
replica.socket.timeout.ms=3000
replica.fetch.backoff.ms=200
controller.socket.timeout.ms=3000
transaction.max.timeout.ms=60000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
broker.heartbeat.interval.ms=600
broker.session.timeout.ms=2000
controller.quorum.election.timeout.ms=500
controller.quorum.election.backoff.max.ms=300
controller.quorum.fetch.timeout.ms=1000
controller.quorum.request.timeout.ms=1000
controller.quorum.retry.backoff.ms=50
controller.quorum.append.linger.ms=5
leader.imbalance.check.interval.seconds=5
log.initial.task.delay.ms=500
log.retention.check.interval.ms=500
log.cleaner.backoff.ms=500
producer.id.expiration.check.interval.ms=500
log.segment.delete.delay.ms=1000
"""


def text(
    member: ClusterMember,
    members: list[ClusterMember],
    data: str,
    given: Sequence[str] = (),
    *,
    static_quorum: bool = False,
) -> str:
    """The server.properties of one KRaft node, with the roles that it has ports for; `given` comes last and wins.

    With a static quorum (before KIP-853) the voters are a setting, and a controller may not be advertised.
    """
    voters = {each.node_id: f"{each.host}:{each.controller_port}" for each in members if each.controller_port}
    brokers = sum(bool(each.port) for each in members)
    broker = [f"PLAINTEXT://127.0.0.1:{member.port}"] if member.port else []
    controller = [f"CONTROLLER://{member.host}:{member.controller_port}"] if member.controller_port else []
    if static_quorum:
        quorum = f"controller.quorum.voters={','.join(f'{node_id}@{place}' for node_id, place in voters.items())}"
    else:
        quorum = f"controller.quorum.bootstrap.servers={','.join(voters.values())}"
    advertised = broker if static_quorum else [*broker, *controller]
    roles = [
        f"process.roles={','.join(role for role, port in _ports(member) if port)}",
        f"node.id={member.node_id}",
        "controller.listener.names=CONTROLLER",
        quorum,
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        f"listeners={','.join([*broker, *controller])}",
        *([f"advertised.listeners={','.join(advertised)}"] if advertised else []),
        *(["inter.broker.listener.name=PLAINTEXT"] if broker else []),
    ]
    if not broker:
        roles.append(_OF_CONTROLLERS)
    own = _own_listeners(member, static_quorum=static_quorum)
    return _complete(roles, brokers, data, [*own, *given])


def _ports(member: ClusterMember) -> tuple[tuple[str, int], ...]:
    return (("broker", member.port), ("controller", member.controller_port))


def zookeeper_text(member: ClusterMember, nodes: int, data: str, connect: str, given: Sequence[str] = ()) -> str:
    """The server.properties of one broker that finds its cluster in ZooKeeper; `given` comes last and wins."""
    roles = [
        f"broker.id={member.node_id}",
        f"zookeeper.connect={connect}",
        f"zookeeper.session.timeout.ms={ZOOKEEPER_SESSION_MS}",
        "zookeeper.connection.timeout.ms=60000",  # it is started beside its ensemble, not after it
        f"listeners=PLAINTEXT://127.0.0.1:{member.port}",
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{member.port}",
        "inter.broker.listener.name=PLAINTEXT",
    ]
    return _complete(roles, nodes, data, given)


def _complete(roles: list[str], nodes: int, data: str, given: Sequence[str]) -> str:
    """What every node of such a cluster has in common, after what is its own."""
    copies = min(3, nodes)
    lines = [
        *roles,
        f"log.dirs={data}",
        f"default.replication.factor={copies}",
        f"min.insync.replicas={max(1, copies - 1)}",
    ]
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        lines += [f"{topic}.replication.factor={copies}", f"{topic}.num.partitions=3"]
    for topic in ("transaction.state.log", "share.coordinator.state.topic"):
        lines.append(f"{topic}.min.isr={max(1, copies - 1)}")
    return "\n".join(lines) + _TIMERS + "".join(f"\n{each}" for each in given)


def _own_listeners(member: ClusterMember, *, static_quorum: bool) -> list[str]:
    """Of a node with a listener for brokers alone: settings that replace those of a node with one for everybody."""
    if not member.peer_port:
        return []
    host, port = member.address
    peers = f"BROKERS://{member.host}:{member.peer_port}"
    controller = f",CONTROLLER://{member.host}:{member.controller_port}" if member.controller_port else ""
    advertised = f"CLIENTS://{host}:{port},{peers}"
    return [
        "listener.security.protocol.map=CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
        f"listeners=CLIENTS://{member.host}:{member.port},{peers}{controller}",
        f"advertised.listeners={advertised if static_quorum else f'{advertised}{controller}'}",
        "inter.broker.listener.name=BROKERS",
    ]


# Without shutdownHook the logger ends first, and an orderly stop leaves no word of its end. Controllers name each
# partition at each start of a node: in a run of all cases more than a gigabyte.
LOG4J_2 = """Configuration:
  shutdownHook: disable
  Appenders:
    Console:
      name: out
      PatternLayout:
        pattern: "[%d] %p %m (%c{1})%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        - ref: out
    Logger:
      - name: org.apache.kafka.controller
        level: WARN
"""

LOG4J_1 = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c{1})%n
log4j.logger.org.apache.kafka.controller=WARN
"""

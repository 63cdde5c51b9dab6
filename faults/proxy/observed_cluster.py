"""What the answers that passed have shown of the cluster: leaders, coordinators, the controller, topic ids."""

from uuid import UUID

from brokertrial.wire.messages import ZERO_UUID, Struct

GROUP, TRANSACTION = 0, 1


class ObservedCluster:
    """Answers `leader(topic, partition)` and the like from what was seen so far; None: not seen yet."""

    def __init__(self, leaderless: bool = False) -> None:
        self.leaderless = leaderless
        self.controller: int | None = None
        self.nodes: frozenset[int] = frozenset()
        self._leaders: dict[tuple[str, int], tuple[int, int]] = {}
        self._replicas: dict[tuple[str, int], tuple[int, ...]] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._topics: dict[UUID, str] = {}

    def leader(self, topic: str, partition: int) -> int | None:
        found = self._leaders.get((topic, partition))
        return found[0] if found else None

    def followers(self, topic: str, partition: int) -> tuple[int, ...] | None:
        """The replicas that do not lead, in the order in which they are listed: the first is the next in line. None
        before both are known, and where there are none."""
        leader, replicas = self.leader(topic, partition), self._replicas.get((topic, partition), ())
        return None if leader is None else tuple(one for one in replicas if one != leader) or None

    def coordinator(self, group: str) -> int | None:
        return self._coordinators.get((GROUP, group))

    def transaction_coordinator(self, transactional_id: str) -> int | None:
        return self._coordinators.get((TRANSACTION, transactional_id))

    def topic_name(self, topic_id: object) -> str | None:
        return self._topics.get(topic_id) if isinstance(topic_id, UUID) else None

    def saw_metadata(self, answer: Struct) -> list[tuple[str, int, int, int]]:
        """Takes in a Metadata answer; the (topic, partition, leader, epoch) that are news."""
        if answer.controller_id >= 0:
            self.controller = answer.controller_id
        self.nodes = frozenset(broker.node_id for broker in answer.brokers) or self.nodes
        news = []
        for topic in answer.topics:
            if topic.name is None:
                continue
            if topic.topic_id != ZERO_UUID:
                self._topics[topic.topic_id] = topic.name
            for part in topic.partitions:
                if part.replica_nodes:
                    self._replicas[topic.name, part.partition_index] = tuple(part.replica_nodes)
                if part.leader_id >= 0 and self.saw_leader(
                    topic.name, part.partition_index, part.leader_id, part.leader_epoch
                ):
                    news.append((topic.name, part.partition_index, part.leader_id, part.leader_epoch))
        return news

    def saw_leader(self, topic: str, partition: int, leader: int, epoch: int) -> bool:
        """Takes in one leader unless an answer with a newer epoch was there before; whether it is news."""
        known = self._leaders.get((topic, partition))
        if known == (leader, epoch) or (known is not None and 0 <= epoch < known[1]):
            return False
        self._leaders[topic, partition] = (leader, epoch)
        return True

    def saw_coordinators(self, request: Struct, answer: Struct, version: int) -> list[tuple[int, str, int]]:
        """Takes in a FindCoordinator answer; the (key type, key, node) that are news."""
        if version < 4:
            found = [(request.key, answer.node_id, answer.error_code)]
        else:
            found = [(one.key, one.node_id, one.error_code) for one in answer.coordinators]
        news = []
        for key, node, code in found:
            if code == 0 and node >= 0 and self._coordinators.get((request.key_type, key)) != node:
                self._coordinators[request.key_type, key] = node
                news.append((request.key_type, key, node))
        return news

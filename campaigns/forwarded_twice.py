"""The minimal replays of docs/finding-forwarded-twice.md: what a node forwards to the controller is done twice.

    python -m campaigns.forwarded_twice [kafka:4.4.0?nodes=3]
    python -m campaigns.forwarded_twice --made-again [kafka:4.4.0?nodes=3]

Three nodes. Nothing passes for 7.5 s between the active controller and the node that the client talks to, where it sets
a setting of a topic. The node forwards the request, has no answer after 3 s and forwards it again; the client has its
one answer. Then the client sets it to something else. That MUST stay: nothing was sent after it. The packets of the
first copy are still to come, for TCP goes on sending them.

With --made-again the client deletes a topic in the same way, makes it again and writes a record. That MUST be kept.

The controller that they go to must be active when they come. With pre-vote (KIP-996) it is so all the time; before,
another one becomes active during the cut, and the active one is frozen for a moment until it is the first again.

Exit status: 0, what was done last stayed in every attempt; 1, it did not; 2, the nodes cannot be parted here.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from threading import Timer

from brokertrial.faults.packets import NetworkControl, both_ways
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET
from brokertrial.suites.probe.admin import TOPIC as OF_A_TOPIC
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire.messages import request

ATTEMPTS, CUT_S, FROZEN_S, SHOWN_WITHIN_S, LATE_WITHIN_S = 10, 7.5, 1.8, 4, 30
"""TCP repeats the packets about 0.2, 0.6, 1.4, 3, 6.5, 13 and 27 s after the first: the cut ends after the fifth."""
MADE_AGAIN = "--made-again"
SETTING, CUT = "retention.ms", "cut"
DAY, HOUR, WEEK = "86400000", "3600000", "604800000"
LOG = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}


def main(words: list[str]) -> int:
    """Plays it and prints what was seen; the exit status."""
    kind = TopicMadeAgain if MADE_AGAIN in words else SetAgain
    text = next((word for word in words if word != MADE_AGAIN), "kafka:4.4.0?nodes=3")
    with Scratch("forwarded") as folder:
        target = open_target(text, Path(folder))
        target.begins_in_network = True
        with target:
            print(f"{text}, version {target.version()}")
            if target.network is None:
                print("its nodes cannot be cut off from each other here")
                return 2
            return 0 if all(kind(number, target, target.network).played() for number in range(1, ATTEMPTS + 1)) else 1


class Attempt(ABC):
    """One attempt, with a topic of its own; its clock begins with the cut."""

    def __init__(self, number: int, target: Target, network: NetworkControl) -> None:
        self._number = number
        self._target = target
        self._network = network
        self.topic = f"kept-{number}"
        self.wire = _wire(target)
        self._first = _active(self.wire)
        self.asked = min(node for node in target.nodes if node != self._first)
        self._began = time.monotonic()

    @abstractmethod
    def before(self) -> None:
        """What is so before; the connection on which it is forwarded is open from then on."""

    @abstractmethod
    def first(self) -> None:
        """What is forwarded and done twice."""

    @abstractmethod
    def second(self) -> None:
        """What must stay; all nodes show it."""

    @abstractmethod
    def undone(self) -> str:
        """What shows that it did not stay."""

    def played(self) -> bool:
        """Whether what was done last stays."""
        print(f"attempt {self._number}: {self._first} is the active controller, the client talks to {self.asked}")
        self.before()
        self._network.apply(CUT, both_ways([self._first], [self.asked], "controllers"))
        self._began = time.monotonic()
        self.say(f"nothing passes between {self._first} and {self.asked}")
        healing = Timer(CUT_S, self._heal)
        healing.start()
        try:
            self.first()
        finally:
            healing.join()
        self.second()
        self._make_the_first_active()
        while time.monotonic() - self._began < LATE_WITHIN_S:
            if why := self.undone():
                self.say(why)
                return False
            time.sleep(0.2)
        self.say("it is so still")
        return True

    def at_nodes(self) -> list[int]:
        """All nodes."""
        return sorted(self._target.nodes)

    def say(self, what: str) -> None:
        """Prints it with the seconds since the cut began."""
        print(f"  {time.monotonic() - self._began:5.1f} s  {what}", flush=True)

    def _heal(self) -> None:
        self.say(f"everything passes again; {self._network.heal(CUT)} packets were dropped")

    def _make_the_first_active(self) -> None:
        while (now := _active(self.wire)) != self._first and time.monotonic() - self._began < LATE_WITHIN_S:
            self.say(f"{now} is the active controller: it is frozen for {FROZEN_S} s")
            self._target.nodes[now].pause()
            try:
                time.sleep(FROZEN_S)
            finally:
                self._target.nodes[now].resume()
        self.say(f"{now} is the active controller")


class SetAgain(Attempt):
    """A setting is set, and set to something else."""

    def before(self) -> None:
        self.wire.create_topic(self.topic).must_succeed()
        self.wire.await_topic(self.topic)
        self._set(DAY)
        self._until_shown(DAY)

    def first(self) -> None:
        self._set(HOUR)

    def second(self) -> None:
        self._set(WEEK)
        self._until_shown(WEEK)

    def undone(self) -> str:
        if HOUR not in self._shown().values():
            return ""
        self.wire.until(lambda: {*self._shown().values()} == {HOUR}, within=SHOWN_WITHIN_S, what="it is so everywhere")
        return f"{SETTING} is {HOUR} again at all nodes"

    def _set(self, value: str) -> None:
        self.wire.change_configs(OF_A_TOPIC, self.topic, [(SETTING, SET, value)], to=self.asked).must_succeed()
        self.say(f"{self.asked} answered that {SETTING} is set to {value}")

    def _until_shown(self, value: str) -> None:
        self.wire.until(lambda: {*self._shown().values()} == {value}, within=SHOWN_WITHIN_S, what=f"all show {value}")
        self.say(f"all nodes show {value}")

    def _shown(self) -> dict[int, str]:
        return {node: _setting(self.wire, self.topic, node) for node in self.at_nodes()}


class TopicMadeAgain(Attempt):
    """A topic is deleted, made again under its name and written to."""

    def before(self) -> None:
        self._make()

    def first(self) -> None:
        self.wire.delete_topic(self.topic, to=self.asked).must_succeed()
        self.say(f"{self.asked} answered that the topic is deleted")

    def second(self) -> None:
        self._make()
        self.wire.produce(self.topic, batch("kept")).must_be_at(0)
        self.say("a record was acknowledged by all replicas")

    def undone(self) -> str:
        if not any(_lacks(self.wire, self.topic, node) for node in self.at_nodes()):
            return ""
        gone = f"no node has {self.topic}"
        self.wire.until(
            lambda: all(_lacks(self.wire, self.topic, node) for node in self.at_nodes()),
            within=SHOWN_WITHIN_S,
            what=gone,
        )
        return f"{gone} any more, and the record is gone with it"

    def _make(self) -> None:
        self.wire.create_topic(self.topic, to=self.asked).must_succeed()
        self.wire.await_topic(self.topic)
        self.wire.until(
            lambda: not any(_lacks(self.wire, self.topic, node) for node in self.at_nodes()),
            within=SHOWN_WITHIN_S,
            what="all nodes know the topic",
        )
        self.say(f"{self.asked} made the topic, and all nodes know it")


def _wire(target: Target) -> Wire:
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    return Wire.unrecorded(CaseContext(prefix="", case=""), addresses)


def _active(wire: Wire) -> int:
    """The controller that is active now."""
    answer = wire.ask(request("DescribeQuorum", topics=[LOG])).must_succeed()
    return int(answer.struct.topics[0].partitions[0].leader_id)


def _setting(wire: Wire, topic: str, node: int) -> str:
    """What a node shows."""
    row = {"resource_type": OF_A_TOPIC, "resource_name": topic, "configuration_keys": [SETTING]}
    answer = wire.ask(request("DescribeConfigs", resources=[row]), to=node).must_succeed()
    return str(answer.struct.results[0].configs[0].value)


def _lacks(wire: Wire, topic: str, node: int) -> bool:
    """Whether a node knows no topic of this name."""
    return bool(wire.metadata(topic, to=node).struct.topics[0].error_code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

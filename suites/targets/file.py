"""`file:BROKER.toml`: any broker that a command starts, or whose nodes run elsewhere and are acted on by commands."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.capabilities import FORGETTING
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.base import NodeLogLine, TargetNotReady, UnknownTarget
from brokertrial.suites.targets.brokerfile import EXAMPLE, LEAVE, RESTART, BrokerFile, fill
from brokertrial.suites.targets.command_node import CommandNode, run
from brokertrial.suites.targets.process import LaunchPlan
from brokertrial.suites.targets.processes import ProcessTarget
from brokertrial.wire.addresses import all_parsed, all_written, reached
from brokertrial.wire.ports import free_ports, is_free

BEFORE_RAN = "before-ran"
"""A file in the folder of a target, from `before` to `after`: where its nodes are."""


def example() -> str:
    """A commented broker.toml with every key."""
    return EXAMPLE


class FileTarget(ProcessTarget):
    """What the file says. A node's id is the one that its Metadata gives it, whatever number {node} was."""

    scheme = "file"
    summary = "any broker that a command starts, described by a TOML file (`brokertrial targets --example`)"
    examples = ("file:broker.toml",)
    ask_to_stop_at_the_end = True

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        if not address.where:
            raise UnknownTarget("file: needs a file, such as `file:broker.toml`.")
        self.file = BrokerFile.read(Path(address.where).resolve())
        if self.file.image:
            raise UnknownTarget(f"{address.text}: it names an image.", hint=f"Try `image:{address.where}`.")
        self.folder = self.file.folder
        self.start_within_s = self.file.ready_within_s
        self.leaderless = self.file.leaderless
        self.volatile = self.file.volatile
        self.reach = dict(self.file.reach)
        self.capabilities = _capabilities(self.file)
        self._places: dict[int, tuple[str, int]] = {}  # by the number that {node} was
        self._ids: dict[int, int] = {}  # what Metadata calls each of them
        self._acted: dict[int, CommandNode] = {}
        self._undo = False

    @property
    def claims(self) -> dict[str, bool]:
        return dict(self.file.claims)

    @property
    def release_number(self) -> tuple[int, ...]:
        return self.file.release

    @property
    def bootstrap(self) -> str:
        return all_written(self._places.values())

    @property
    def nodes(self) -> dict[int, NodeControl]:
        if self._acted:
            return dict(self._acted)
        return super().nodes if self._one_each else {}

    @property
    def _one_each(self) -> bool:
        return self.file.per_node or self.file.nodes == 1

    def version(self) -> str:
        if not self.file.version:
            return "not stated"
        said = run("version", fill(self.file.version, self._values(1)), self.folder, 30)
        return next((line.strip() for line in said.splitlines() if line.strip()), "not stated")

    def start(self) -> None:
        self.workdir.mkdir(parents=True, exist_ok=True)
        try:
            self._undo_what_is_left()
            self._choose_places()
            self._undo = True
            if self.file.before:
                (self.workdir / BEFORE_RAN).write_text(self.bootstrap, encoding="utf-8")
            for command in self.file.before:
                run("before", fill(command, self._values(1)), self.folder)
        except BaseException:
            self.stop()
            raise
        super().start()

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            undo, self._undo = self._undo, False
            if undo:
                self._run_after()

    def _run_after(self) -> None:
        """Undoes `before`; what cannot be undone is said in the log."""
        for command in self.file.after:
            try:
                run("after", fill(command, self._values(1)), self.folder)
            except TargetNotReady as problem:
                self.log(str(problem))
        (self.workdir / BEFORE_RAN).unlink(missing_ok=True)

    def _undo_what_is_left(self) -> None:
        """An earlier process of this run crashed between `before` and `after`: the folder of its target says so."""
        for left in self.workdir.parent.glob(f"{self.workdir.name.partition('~')[0]}*/{BEFORE_RAN}"):
            self._places = dict(enumerate(all_parsed(left.read_text(encoding="utf-8")), 1))
            self._run_after()
            left.unlink(missing_ok=True)

    def log(self, text: str) -> None:
        """Keeps a line of our own beside the nodes' logs."""
        with (self.workdir / "target.log").open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")

    def plans(self) -> dict[int, LaunchPlan]:
        if not self.file.start:
            return {}
        if self._nodes:  # a second try, for the ports of the first were taken; or a start without data
            self._ids = {}
            if not self.file.places:
                self._choose_places()
        made: dict[int, LaunchPlan] = {}
        for node in self._places if self.file.per_node else [1]:
            values = self._values(node)
            plan = self.plan(node, fill(self.file.start, values), self._places[node])
            made[node] = replace(
                plan,
                run_in=self.folder,
                logs=tuple(self.folder / path for path in fill(self.file.logs, values)),
                stop_signal=self.file.stop_signal,
                stop_within_s=self.file.stop_within_s,
                only_starts=bool(self.file.actions),
            )
        return made

    def make_nodes(self) -> None:
        super().make_nodes()
        self._acted = {}
        if self.file.actions or not self.file.start:
            for node, place in self._places.items():
                actions = {name: fill(words, self._values(node)) for name, words in self.file.actions.items()}
                self._acted[node] = CommandNode(node, place, actions, self.folder, _answers, self._acted_serves)

    def alive(self) -> bool:
        if not self._acted:
            return super().alive()
        return all(node.alive() and not node.paused() for node in self._acted.values())

    def recover(self) -> None:
        for node in self._acted.values():
            node.resume()
            if not node.alive() and "restart" in self.file.actions:
                node.restart()
        if self._runs_on:
            for child in self._nodes.values():
                child.resume()
            self.wait_until_ready()
        else:
            super().recover()

    @property
    def _runs_on(self) -> bool:
        """Whether it is not ours to start it again: commands do that, or nobody may."""
        if self.file.actions:
            return "restart" in self.file.actions or not self.file.start
        return self.file.on_sick == LEAVE and super().alive()

    @property
    def restartable(self) -> bool:
        if self._acted:
            return self.file.on_sick == RESTART and ("restart" in self.file.actions or bool(self.file.start))
        return self.file.on_sick != LEAVE

    def restart(self) -> None:
        if "restart" not in self.file.actions and self.file.start:
            super().restart()
            return
        for node in self._acted.values():
            node.restart()
        self.wait_until_ready()

    def health_problem(self) -> str:
        for node in self._places if self.file.health else ():
            command = fill(self.file.health, self._values(node))
            try:
                run("[health] command", command, self.folder, self.file.health_within_s)
            except TargetNotReady as problem:
                return str(problem)
        return ""

    def alarms(self, begin_ns: int, end_ns: int) -> list[NodeLogLine]:
        if not self.file.alarm:
            return []
        return [line for line in self.log_lines(begin_ns, end_ns) if self.file.alarm in line.text]

    def addresses(self) -> dict[int, tuple[str, int]]:
        return self._places

    def must_run(self) -> None:
        if not (self._ids and self.file.actions):  # where commands act, our child may be but the way to start it
            super().must_run()

    def wait_until_ready(self, within_s: float | None = None) -> None:
        super().wait_until_ready(within_s)
        self._take_the_ids_of_metadata()

    def _take_the_ids_of_metadata(self) -> None:
        brokers = readiness.ask(next(iter(self._places.values()))).brokers
        ours = {_resolved(place): node for node, place in self._places.items()}
        found = [(ours.get(_resolved(reached(*place, self.reach))), broker) for broker, place in brokers.items()]
        ids = {node: broker for node, broker in found if node is not None}
        if self._ids or set(ids) != set(self._places):
            return  # known already; or it advertises addresses that nobody gave it, and the file's numbers stay
        self._ids = ids
        self._acted = {ids[node]: node_control for node, node_control in self._acted.items()}
        for number, acted in self._acted.items():
            acted.node_id = number
        if self._one_each:
            self._nodes = {ids[node]: child for node, child in self._nodes.items()}
            self.watch.renumber(ids)
            for number, child in self._nodes.items():
                child.node_id = number

    def _choose_places(self) -> None:
        self._ids = {}
        if self.file.places:
            self._places = {node + 1: place for node, place in enumerate(self.file.places)}
            for node, (host, port) in self._places.items() if self.file.start else ():
                if not is_free(port, host):
                    raise TargetNotReady(
                        f"{self.name}: port {port} of node {node} is in use by another program.",
                        hint='End that program, choose another port, or say ports = "free".',
                    )
        else:
            self._places = {node + 1: ("127.0.0.1", port) for node, port in enumerate(free_ports(self.file.nodes))}

    def _values(self, node: int) -> dict[str, object]:
        places = list(self._places.values())
        return {
            "node": node,
            "port": self._places[node][1],
            "ports": ",".join(str(port) for _, port in places),
            "peers": all_written(places),
            "data": self.data / f"node-{node}",
        }

    def _acted_serves(self, node: CommandNode) -> None:
        self.wait_for(
            f"node {node.node_id} of {self.name} did not serve again",
            lambda: readiness.is_member(node.node_id, node.address),
            lambda: None,
        )


def _answers(node: CommandNode) -> bool:
    try:
        readiness.ask(node.address, readiness.PATIENT_S)
    except readiness.NotYet:
        return False
    return True


def _capabilities(file: BrokerFile) -> frozenset[str]:
    has = {"create_topics", "settings"}
    if file.start or file.before:
        has.add("started")
    if file.start:
        has.add("logs")
    if file.nodes > 1:
        has.add("nodes")
    if file.version:
        has.add("version")
    if file.actions or not file.start:
        has |= {"kill", "restart"} & set(file.actions)
        has |= {"pause"} if {"pause", "resume"} <= set(file.actions) else set()
    elif file.per_node or file.nodes == 1:
        has |= {"kill", "terminate", "pause", "restart"}
    return frozenset(has - FORGETTING if file.volatile else has)


def _resolved(place: tuple[str, int]) -> tuple[str, int]:
    host, port = place
    try:
        return socket.gethostbyname(host), port
    except OSError:
        return place

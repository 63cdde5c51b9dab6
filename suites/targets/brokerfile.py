"""The TOML file of a `file:` target: read, checked, its commands filled in."""

from __future__ import annotations

import re
import signal
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill as fill_lines
from typing import Any

from brokertrial.suggestion import nearest_or_all
from brokertrial.suites.since import release_of
from brokertrial.suites.targets.base import ALLOWANCES, FEATURES, UnknownTarget
from brokertrial.wire.addresses import parsed

PLACEHOLDERS = ("node", "port", "ports", "data", "peers")
OF_CONTAINERS = ("controller_port", "controllers")
KEYS = (
    *("nodes", "process", "start", "before", "after", "version", "ports", "ready", "stop", "logs", "alarm"),
    *("actions", "health", "reach", "claims", "leaderless", "kafka", "cwd", "volatile"),
    *("image", "environment"),
)
ACTIONS = ("kill", "pause", "resume", "restart")
RESTART, LEAVE = "restart", "leave"

EXAMPLE = """\
# A broker that a command starts, for `brokertrial run --target file:broker.toml`.
# Only `start` is needed: that is one node on a free port. Every other key may be left out.
# First `brokertrial doctor --target file:broker.toml`: it starts the broker once and says which of this works.
# Commands are lists of arguments, never a line for a shell; they run in the folder of this file, or in `cwd`.
# Filled in wherever a command or a log path has them:
#   {node}  1, 2, ...        {port}  the node's port        {data}  a folder of its own
#   {peers} host:port,... of all nodes                      {ports} port,... of all nodes

# `start` must be the broker itself, in the foreground (in a script: `exec`): what it starts as a daemon, or in a
# session of its own, no kill and no pause reaches.

nodes   = 3
process = "per-node"          # or "all": one process serves all nodes (give it {ports}); killing one is then
                              # not applicable
start   = ["./mybroker", "--id={node}", "--listen=127.0.0.1:{port}", "--data={data}", "--peers={peers}"]

# What must run before the first node; `after` undoes it, also on Ctrl-C, and before a run goes on whose process has
# crashed. Each command must end by itself.
# before  = [["./start-storage"]]
# after   = [["./stop-storage"]]

# cwd = "../build"            # where commands run, and where relative log paths begin; itself relative to this file
# volatile = true             # what was acknowledged is gone when its process is: nothing is killed or restarted to
                              # see whether it is still there

# A broker in containers, for `--target image:broker.toml`: `start` is then what the container is given to run (it may
# be left out), {data} a folder in it, and each node is a container in the network of this machine. Besides there are
#   {controller_port} a second port of the node      {controllers} host:port,... of these
# image = "vendor/broker:1.2"
# environment = { BROKER_ID = "{node}", LISTEN = "127.0.0.1:{port}", PEERS = "{peers}" }

version = ["./mybroker", "--version"]   # the first line that it prints
# kafka = "3.5"               # the Apache Kafka release that it is compatible with: promises that Kafka made only
                              # later are not asked of it; without this key all are
ports   = "free"              # or a list, such as [9092, 9093, 9094] or ["broker-1:9092", ...]
                              # a node keeps its port and {data} over a restart, a new run gets fresh ones
ready   = { within_s = 30 }   # by protocol: every node answers ApiVersions, Metadata names all nodes
stop    = { signal = "TERM", within_s = 10 }
logs    = ["{data}/broker.log"]         # stdout and stderr are always kept
alarm   = "panicked at"       # such a line during a case is a warning in that case, and the broker is started anew

# Only for brokers that are not our children (containers, virtual machines): how one is hurt and healed.
# Without `start` the nodes run already; `ports` must then say where.
# [actions]
# kill    = ["docker", "kill", "broker-{node}"]
# pause   = ["docker", "pause", "broker-{node}"]
# resume  = ["docker", "unpause", "broker-{node}"]
# restart = ["docker", "restart", "broker-{node}"]

# After each case a record is written and read back. A broker that is sick, for it did this before and does it no
# more, is killed and started anew with its data, and so is one whose log has the `alarm`: one case must not turn the
# others red. Where that cannot be, the cases that follow are not applicable.
# [health]
# command  = ["./is-it-well", "127.0.0.1:{port}"]   # asked of every node besides: status 0 says that it is well
# within_s = 10
# on_sick  = "restart"        # with [actions] only where this is said; "leave": it is never started anew

# An advertised address that does not resolve here, and where it does.
# [reach]
# "broker-1:9092" = "127.0.0.1:19092"

# What the broker says that it can do: claimed and not offered is a failure, `claims/<feature>`; what it says that it
# cannot (transactions = false) takes its cases away, unless `--require` names it. The features are
#   FEATURES_HERE
# And topic-policy = true: a policy may refuse topics with POLICY_VIOLATION.
[claims]
transactions = true
leaderless = false            # true: any node serves any partition; "leader" in a schedule is then the node
                              # that the client talks to
""".replace("FEATURES_HERE", fill_lines(", ".join(FEATURES), 110, subsequent_indent="#   "))


@dataclass(frozen=True, slots=True)
class BrokerFile:
    """What the file says, checked; commands still have their placeholders."""

    path: Path
    folder: Path  # where commands run
    nodes: int = 1
    per_node: bool = True
    start: tuple[str, ...] = ()
    image: str = ""  # of a container; empty: a process
    environment: Mapping[str, str] = field(default_factory=dict)
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()
    version: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()  # empty: free ports
    ready_within_s: float = 30.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within_s: float = 10.0
    logs: tuple[str, ...] = ()
    alarm: str = ""
    actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    health: tuple[str, ...] = ()
    health_within_s: float = 10.0
    on_sick: str = ""  # empty: nothing was said
    reach: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, bool] = field(default_factory=dict)
    leaderless: bool = False
    volatile: bool = False
    release: tuple[int, ...] = ()  # of Apache Kafka, that it says it is compatible with

    @classmethod
    def read(cls, path: Path) -> BrokerFile:
        """Reads and checks the file; every mistake is an UnknownTarget that names the key and what it wants."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UnknownTarget(f"file:{path}: {(error.strerror or str(error)).lower()}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UnknownTarget(f"file:{path} is no TOML: {error}.") from error
        return _BrokerFileReader(path).read(content)


class _BrokerFileReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.in_containers = False

    def read(self, content: dict[str, Any]) -> BrokerFile:
        self.in_containers = "image" in content
        self._known(content, KEYS, "")
        nodes = self._whole("nodes", content.get("nodes", 1))
        known = dict.fromkeys((*FEATURES, *ALLOWANCES, "leaderless"), bool)
        claims = dict(self._table("claims", content.get("claims", {}), known))
        leaderless = self._flag("leaderless", claims.pop("leaderless", content.get("leaderless", False)))
        ready = self._table("ready", content.get("ready", {}), {"within_s": (int, float)})
        stop = self._table("stop", content.get("stop", {}), {"signal": str, "within_s": (int, float)})
        actions = self._table("actions", content.get("actions", {}), dict.fromkeys(ACTIONS, list))
        health = self._table(
            "health", content.get("health", {}), {"command": list, "within_s": (int, float), "on_sick": str}
        )
        reach = content.get("reach", {})
        if not isinstance(reach, dict) or not all(isinstance(place, str) for place in reach.values()):
            raise self._wrong("reach", 'a table of "advertised address" = "real address"', reach)
        made = BrokerFile(
            path=self.path,
            folder=self._folder(self._text("cwd", content.get("cwd", ""))),
            nodes=nodes,
            per_node=self._choice("process", content.get("process", "per-node"), ("per-node", "all")) == "per-node",
            start=self._command("start", content["start"]) if "start" in content else (),
            image=self._text("image", content.get("image", "")),
            environment=self._environment(content.get("environment", {})),
            before=self._commands("before", content.get("before", [])),
            after=self._commands("after", content.get("after", [])),
            version=self._command("version", content["version"]) if "version" in content else (),
            places=self._places(content.get("ports", "free"), nodes),
            ready_within_s=float(ready.get("within_s", 30)),
            stop_signal=self._signal(stop.get("signal", "TERM")),
            stop_within_s=float(stop.get("within_s", 10)),
            logs=self._command("logs", content["logs"]) if content.get("logs") else (),
            alarm=self._text("alarm", content.get("alarm", "")),
            actions={name: self._command(f"actions.{name}", command) for name, command in actions.items()},
            health=self._command("health.command", health["command"]) if "command" in health else (),
            health_within_s=float(health.get("within_s", 10)),
            on_sick=self._choice("health.on_sick", health["on_sick"], (RESTART, LEAVE)) if "on_sick" in health else "",
            reach=dict(reach),
            claims=claims,
            leaderless=leaderless,
            volatile=self._flag("volatile", content.get("volatile", False)),
            release=self._release(content["kafka"]) if "kafka" in content else (),
        )
        return self._whole_makes_sense(made)

    def _whole_makes_sense(self, made: BrokerFile) -> BrokerFile:
        if made.image:
            return self._container_makes_sense(made)
        if made.environment:
            raise self._problem("`environment` is for a container, and there is no `image`")
        if not made.start and not made.places:
            raise self._problem(
                "there is no `start`, and `ports` does not say where the nodes run",
                'Give a command, such as start = ["./mybroker", "--port={port}"]. '
                "`brokertrial targets --example` prints a file with every key.",
            )
        if made.start and not made.places and not re.search(r"\{(port|ports|peers)\}", " ".join(made.start)):
            raise self._problem(
                "`start` has no {port}, so the broker cannot learn its free port",
                "Add {port} (or {peers}) to the command, or give `ports` as a list.",
            )
        return made

    def _container_makes_sense(self, made: BrokerFile) -> BrokerFile:
        not_ours = {"actions": made.actions, "ports": made.places, "before": made.before, "logs": made.logs}
        for key, given in not_ours.items():
            if given:
                raise self._problem(f"`{key}` is not for a container: the engine does that")
        words = " ".join([*made.start, *made.environment.values()])
        if not made.per_node or not re.search(r"\{(port|ports|peers)\}", words):
            raise self._problem(
                "neither `start` nor `environment` has {port}, so the broker cannot learn its port",
                'Each node is a container of its own, in the network of this machine: LISTEN = "127.0.0.1:{port}".',
            )
        return made

    def _environment(self, value: object) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self._wrong("environment", 'a table of NAME = "text"', value)
        if value:
            self._command("environment", list(value.values()))
        return dict(value)

    def _places(self, value: object, nodes: int) -> tuple[tuple[str, int], ...]:
        if value == "free":
            return ()
        if not isinstance(value, list):
            raise self._wrong("ports", '"free" or a list of one port a node', value)
        if len(value) != nodes:
            raise self._problem(f"`ports` has {len(value)} entries for {nodes} nodes")
        return tuple(self._place(place) for place in value)

    def _release(self, value: object) -> tuple[int, ...]:
        try:
            return release_of(str(value))
        except ValueError:
            raise self._wrong("kafka", 'an Apache Kafka release, such as "3.5"', value) from None

    def _place(self, place: object) -> tuple[str, int]:
        try:
            return parsed(f"127.0.0.1:{place}" if isinstance(place, int) else str(place))
        except ValueError:
            raise self._wrong("ports", 'ports such as 9092 or places such as "broker-1:9092"', place) from None

    def _signal(self, name: object) -> signal.Signals:
        names = {each.name.removeprefix("SIG"): each for each in signal.Signals}
        if not isinstance(name, str) or name.removeprefix("SIG") not in names:
            raise self._problem(
                f"stop.signal `{name}` is no signal", nearest_or_all(str(name).upper(), ("TERM", "INT", "QUIT", "KILL"))
            )
        return names[name.removeprefix("SIG")]

    def _commands(self, key: str, value: object) -> tuple[tuple[str, ...], ...]:
        if not isinstance(value, list):
            raise self._wrong(key, 'a list of commands, such as [["./prepare", "now"]]', value)
        return tuple(self._command(key, command) for command in value)

    def _command(self, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
            raise self._wrong(key, 'a list of words, such as ["./mybroker", "--port={port}"]', value)
        known = (*PLACEHOLDERS, *OF_CONTAINERS) if self.in_containers else PLACEHOLDERS
        for word in re.findall(r"\{(\w+)\}", " ".join(value)):
            if word not in known:
                unknown = f"`{key}` has {{{word}}}, which nothing is filled in for"
                raise self._problem(unknown, nearest_or_all(word, known))
        return tuple(value)

    def _table(self, key: str, value: object, known: Mapping[str, Any]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(key, "a table", value)
        self._known(value, known, f" of [{key}]")
        for name, content in value.items():
            if not isinstance(content, known[name]) or (isinstance(content, bool) and known[name] is not bool):
                wanted = {bool: "true or false", str: "a text", list: "a list of words"}.get(known[name], "a number")
                raise self._wrong(f"{key}.{name}", wanted, content)
        return value

    def _known(self, content: Mapping[str, Any], known: Sequence[str] | Mapping[str, Any], where: str) -> None:
        for key in content:
            if key not in known:
                raise self._problem(f"`{key}` is no key{where}", nearest_or_all(key, known))

    def _whole(self, key: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 100:
            raise self._wrong(key, "a whole number from 1 to 100", value)
        return value

    def _choice(self, key: str, value: object, choices: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in choices:
            raise self._wrong(key, " or ".join(f'"{choice}"' for choice in choices), value)
        return value

    def _flag(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def _folder(self, cwd: str) -> Path:
        folder = (self.path.parent / cwd).resolve()
        if not folder.is_dir():
            raise self._problem(f"`cwd` is {cwd!r}, and {folder} is no folder that is there")
        return folder

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._wrong(key, "a text", value)
        return value

    def _wrong(self, key: str, wanted: str, value: object) -> UnknownTarget:
        return self._problem(f"`{key}` is {wanted}, not {value!r}")

    def _problem(self, sentence: str, hint: str = "") -> UnknownTarget:
        return UnknownTarget(f"file:{self.path}: {sentence}.", hint=hint)


def fill(words: Sequence[str], values: Mapping[str, object]) -> list[str]:
    """The command with its placeholders filled in; other braces stay as they are."""
    return [re.sub(r"\{(\w+)\}", lambda found: str(values[found[1]]), word) for word in words]

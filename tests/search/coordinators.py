"""Random small histories of coordinators, registers with compare-and-set, and maps: for the engines alone."""

from __future__ import annotations

import random
from collections.abc import Callable

from brokertrial.checkers.linearizability.search.question import Op, Question

LONGEST = 8


def _intervals(rng: random.Random, count: int) -> list[tuple[int, int]]:
    spread = rng.choice((0, 0, 1))
    return [(2 * place - rng.randint(0, spread), 2 * place + rng.randint(0, spread)) for place in range(count)]


def _history(rng: random.Random, model: str, step: Callable[[random.Random, dict], tuple[str, dict, dict]]) -> Question:
    """Steps of a made-up object; some answers are lost, and in many histories two are exchanged."""
    state: dict = {}
    ops = []
    for number, (call, ret) in enumerate(_intervals(rng, rng.randint(2, LONGEST)), start=1):
        f, asked, told = step(rng, state)
        lost = rng.random() < 0.1
        ops.append(Op(number, f, call, None if lost else ret, asked, None if lost else told, number))
    if rng.random() < 0.6:
        pairs = [
            (one.op - 1, other.told)
            for one in ops
            for other in ops
            if one.f == other.f and None not in (one.told, other.told) and one.told != other.told
        ]
        for place, told in rng.sample(pairs, min(len(pairs), 2)):
            ops[place] = ops[place]._replace(told=told)
    return Question(model, ops)


def transaction(rng: random.Random) -> Question:
    """Producers that fence each other, and end what they began."""

    def step(rng: random.Random, state: dict) -> tuple[str, dict, dict]:
        epoch, phase = state.get("epoch", -1), state.get("phase", "empty")
        match rng.choice(("init", "add", "add", "end", "end", "state")) if epoch >= 0 else "init":
            case "init":
                state.update(epoch=epoch + rng.randint(1, 2), phase="empty")
                return "init", {}, {"epoch": state["epoch"]}
            case "state":
                return "state", {}, {"state": phase}
            case "add":
                if epoch and rng.random() < 0.3:
                    return "add", {"epoch": epoch - 1}, {"error": "fenced"}
                state["phase"] = "ongoing"
                return "add", {"epoch": epoch}, {"error": ""}
        commit = rng.random() < 0.6
        asked = {"epoch": epoch, "commit": commit}
        if phase != "ongoing":
            return "end", asked, {"error": "" if state.get("ended") == asked and phase != "empty" else "state"}
        state.update(phase="committed" if commit else "aborted", ended=asked)
        if rng.random() < 0.3:
            state["epoch"] = epoch + 1
            return "end", asked, {"error": "", "next": epoch + 1}
        return "end", asked, {"error": ""}

    return _history(rng, "transaction", step)


def group(rng: random.Random) -> Question:
    """Members that come, ask, and go."""

    def step(rng: random.Random, state: dict) -> tuple[str, dict, dict]:
        generation, members = state.get("generation", 0), state.setdefault("members", set())
        member = rng.choice("abc")
        f = rng.choice(("join", "sync", "heartbeat", "heartbeat", "leave"))
        if f == "join":
            if rng.random() < 0.6:
                members.clear()
                state["generation"] = generation + 1
            members.add(member)
            return "join", {"member": member}, {"generation": state.get("generation", 0)}
        asked = {"member": member} if f == "leave" else {"member": member, "generation": generation}
        if member not in members:
            return f, asked, {"error": "member"}
        if f == "leave":
            members.discard(member)
        elif rng.random() < 0.3:
            return f, asked | {"generation": generation - 1}, {"error": "generation"}
        return f, asked, {"error": rng.choice(("", "", "rebalance")) if f != "leave" else ""}

    return _history(rng, "group", step)


def compare_and_set(rng: random.Random) -> Question:
    """A register of few values."""

    def step(rng: random.Random, state: dict) -> tuple[str, dict, dict]:
        value = state.get("value")
        f = rng.choice(("read", "write", "cas"))
        if f == "read":
            return f, {}, {"value": value}
        if f == "write":
            state["value"] = rng.randint(0, 2)
            return f, {"value": state["value"]}, {}
        asked = {"from": rng.randint(0, 2), "to": rng.randint(0, 2)}
        if value == asked["from"]:
            state["value"] = asked["to"]
        return f, asked, {"ok": value == asked["from"]}

    return _history(rng, "register", step)


def key_value(rng: random.Random) -> Question:
    """A map with two keys."""

    def step(rng: random.Random, state: dict) -> tuple[str, dict, dict]:
        key, f, value = rng.choice("kl"), rng.choice(("get", "put", "append")), rng.choice(("x", "y"))
        if f == "get":
            return f, {"key": key}, {"value": state.get(key, "")}
        state[key] = value if f == "put" else state.get(key, "") + value
        return f, {"key": key, "value": value}, {}

    return _history(rng, "key-value", step)


MAKERS = {"transaction": transaction, "group": group, "compare-and-set": compare_and_set, "key-value": key_value}

"""Fetch sessions at leaders and followers in drawn steps, while leaders move, nodes go and topics are deleted."""

from collections.abc import Callable
from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch._logs_among_nodes import LogsAmongNodes
from brokertrial.suites.cases.fetch._sessions_among_nodes import BY_ID_SINCE, NodeSession
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES

TURNS, BY_NAME_SINCE = 12, 7
STEPS = (
    *["write"] * 3,
    *["send"] * 3,
    *["end"] * 2,
    "cut",
    *["step"] * 5,
    *["follow"] * 2,
    *["loose"] * 2,
    "under way",
    *["waits"] * 2,
    "wrong",
    "closes",
)


@case(
    "fetch/session-whatever-comes-next-among-nodes",
    guarantees=["fetch-009", "fetch-008", "fetch-010", "fetch-011", "fetch-012", "txn-002", "txn-004", "repl-018"],
    apis={"Fetch": 11, "DeleteRecords": 0, "CreateTopics": 5, "DeleteTopics": 1, "EndTxn": 0, "Metadata": 7, **MOVES},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "terminate", "restart"],
    detects=["Q11", "N06", "L03", "L15", "B105", "B132", "B133", "B134"],
)
def every_step_returns_what_changed_there(wire, rng, nodes):
    """Whatever is written, ended in transactions and deleted, and whoever leads then, each step of a fetch session, at
    the leader or at a follower, MUST return exactly the partitions that have changed there: records, a new end or
    start, or an error as long as it lasts; with the present leader where the version names it. No end MUST lie beyond
    what was written, nor go back. A step out of turn, or at another node, MUST be refused, and change nothing.

    Nine partitions of three topics, and sessions at each node in versions with names and with ids; a leader moves, a
    partition leaves a node, a topic is deleted and made again, and a node is killed or stopped and away: each once, in
    a drawn order.
    """
    among = SessionsAmongNodes(wire, nodes, rng)
    acts: list[Callable[[], None]] = [
        among.leader_moves,
        among.leader_moves,
        among.replicas_move,
        among.another_topic,
        partial(among.is_away, rng.choice((nodes.kill, nodes.terminate))),
    ]
    for act in rng.sample(acts, len(acts)):
        among.go_on(TURNS)
        act()
        among.each_steps()
    among.go_on(TURNS)
    for number in range(2):
        among.end(number, number == 0)
    among.each_steps(follow=True)
    among.each_steps(follow=True)


class SessionsAmongNodes(LogsAmongNodes):
    """Sessions of several readers at each node."""

    def __init__(self, wire, nodes, rng):
        self.sessions: list[NodeSession] = []
        self.ends = {}
        super().__init__(wire, nodes, rng)
        newest = max(wire.versions("Fetch"))
        kinds = [by_id for by_id in (True, False) if (newest >= BY_ID_SINCE if by_id else True)]
        for node in self.every:
            for by_id in (kinds[0], rng.choice(kinds)):
                self.sessions.append(NodeSession(self, node, by_id, f"reader {len(self.sessions)}"))

    def is_session(self, node, number):
        """Whether a node knows one of this id; ids are a node's own."""
        return any(one.node == node and one.id == number for one in self.sessions)

    def await_known(self, log, node):
        """A follower knows all that there is."""
        if log is self.logs[log.place] and not log.gone and node in log.replicas and node != log.leader:
            self.await_end(log, node)

    def shown(self, node, log, end):
        """The end that a replica has shown of a partition before; it never goes back."""
        before = self.ends.get((node, log), 0)
        self.ends[node, log] = max(before, end)
        return before

    def there_now(self):
        """Sessions at nodes that are not away."""
        return [one for one in self.sessions if one.node != self.away]

    def each_steps(self, **how):
        for one in self.there_now():
            one.step(**how)

    def go_on(self, turns):
        for _ in range(turns):
            self.end_old()
            self._does(self.rng.choice(STEPS), self.rng.choice(self.there()), self.rng.randrange(2))

    def _does(self, step, log, number):
        one = self.rng.choice(self.there_now())
        if step == "write":
            self.write(log)
        elif step == "send":
            self.send(self.rng.choice([each for each in self.there() if each.place[0] in self.lasting]), number)
        elif step == "end":
            self.end(number, self.rng.random() < 0.5)
        elif step == "cut":
            self.cut(log)
        elif step == "loose":
            self.write(self.rng.choice([row.log for row in one.rows.values() if row.log in self.there()] or [log]))
            one.loose_step()
        elif step == "under way":
            acknowledged = self.begin_to_write(log)
            one.loose_step(log)
            acknowledged()
        elif step == "waits":
            one.waits()
        elif step == "wrong":
            one.wrong_steps()
        elif step == "closes":
            self.rng.choice((one.closes, one.opens))()
        else:
            one.step(follow=step == "follow")

    def leader_moves(self):
        """Somebody may wait there."""
        one = self.rng.choice(self.sessions)
        led = [row.log for row in one.rows.values() if row.log.leader == one.node and not row.log.gone]
        log = self.rng.choice(led or self.there())
        one.is_deposed(log, partial(self.next_leads, log))

    def another_topic(self):
        """What was read of a deleted topic is in error, and nothing of the next one of its name."""
        self.topic_goes()
        for one in self.sessions:
            one.step(named={})
        self.topic_is_made_again()
        for one in self.sessions:
            one.passes_on()

    def is_away(self, how):
        """A node is gone for some steps, and knows none of its sessions when it is back."""
        self.goes(how)
        self.each_steps()
        self.go_on(TURNS)
        back = self.away
        self.comes_back()
        self.ends = {key: end for key, end in self.ends.items() if key[0] != back}
        for one in self.sessions:
            if one.node == back:
                one.must_be_unknown()

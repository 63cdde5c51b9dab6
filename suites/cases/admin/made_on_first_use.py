"""Topics that are made when a client first asks for them (auto.create.topics.enable), beside names that cannot be."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CHOSEN = {"auto.create.topics.enable": "true", "num.partitions": "3"}
NEW, WRONG, MAY_FORBID_SINCE, WITHIN_S = 3, ("not allowed", "not/allowed"), 4, 30
ON_ITS_WAY = (errors.NONE, errors.UNKNOWN_TOPIC_OR_PARTITION, errors.LEADER_NOT_AVAILABLE)


@case(
    "admin/made-on-first-use",
    guarantees=["prod-015", "adm-001", "adm-002"],
    needs=["partitions", "chosen-settings", "started", "terminate", "restart"],
    apis={"Metadata": 1},
    detects=["B357"],
)
def each_name_is_made_or_refused_for_itself(wire, topic, nodes, rng):
    """Where topics are made on first use, Metadata in every version MUST make each topic that it asks for and that does
    not exist, with the default number of partitions, whatever is wrong with other names of the request: a name that no
    topic can have MUST be refused (17), and one that exists is described. Where the request does not allow it, from v4
    on, nothing MUST be made.

    Three new names, two that cannot be, and an existing one in drawn order, at drawn nodes, again and again.
    """
    nodes.start_with(CHOSEN)
    wire.await_topic(topic)
    made, unmade = [], []
    for version in wire.versions("Metadata"):
        names = [wire.name(f"v{version}-{number}") for number in range(NEW)]
        wrong = [f"{wire.name('v')}-{word}" for word in WRONG]
        if version >= MAY_FORBID_SINCE:
            unmade += [wire.name(f"v{version}-unmade-{number}") for number in range(NEW)]
            _ask(wire, rng, version, [*unmade[-NEW:], *wrong, topic], allow=False)
        wire.will_make(wire.made_topics, *names)
        with wire.part(f"v{version}"):
            wire.eventually(lambda v=version, n=names, w=wrong: _all_made(wire, rng, v, n, w, topic), within=WITHIN_S)
        made += names
    for name in rng.sample(made, NEW):
        wire.await_topic(name)
        wire.produce(name, batch("a"), 2).must_be_at(0)
    listed = {row.name for row in wire.metadata(all_topics=True).struct.topics}
    found = sorted(listed.intersection(unmade))
    wire.must(not found, f"{found} are made, though the requests did not allow it")


def _all_made(wire, rng, version, names, wrong, there):
    answer = _ask(wire, rng, version, [*names, *wrong, there], allow=True)
    rows = {row.name: row for row in answer.struct.topics}
    for name in names:
        found = (rows[name].error_code, len(rows[name].partitions))
        wanted = (errors.NONE, int(CHOSEN["num.partitions"]))
        answer.must(found == wanted, f"{name} has (error code, partitions) {found}; they must be {wanted}", "topics")


def _ask(wire, rng, version, names, *, allow):
    """What is wrong is refused, and what is there described, in each answer; the rest is on its way, or not to be."""
    asked = request("Metadata", topics=[{"name": name} for name in rng.sample(names, len(names))])
    asked.allow_auto_topic_creation = allow
    answer = wire.ask(asked, to=rng.choice(wire.nodes), version=version)
    answer.examined = True
    codes = {row.name: row.error_code for row in answer.struct.topics}
    *new, one, other, there = names
    fits = codes.keys() == set(names) and codes[there] == errors.NONE
    fits = fits and codes[one] == codes[other] == errors.INVALID_TOPIC_EXCEPTION
    fits = fits and all(codes[name] in (ON_ITS_WAY if allow else ON_ITS_WAY[1:2]) for name in new)
    answer.must(fits, f"the error codes are {codes}; {there} exists, and {one} and {other} cannot be", "topics")
    return answer

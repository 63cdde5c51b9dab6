"""Topics that are first asked for while no controller is there, where a broker makes those that it does not know."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

CREATES_ON_USE = "auto.create.topics.enable"
ASKED, WITHIN_S = 2, 90


@case(
    "admin/first-used-without-controllers",
    guarantees=["adm-001", "kraft-006"],
    needs=["three-nodes", "leaders", "chosen-settings", "terminate", "kill", "restart"],
    apis={"Metadata": 4},
    detects=["B60"],
)
def who_asks_again_is_given_the_topic(wire, nodes, rng):
    """Where topics are made on first use, one that was asked for while the controllers were dead MUST be made when it
    is asked for again after they are back, at whichever node, and MUST take records then.
    """
    nodes.start_with({CREATES_ON_USE: "true"})
    topics = {node: wire.name("t") for node in wire.nodes}

    def ask(node):
        row = request("Metadata", topics=[{"name": topics[node]}], allow_auto_topic_creation=True)
        return wire.ask(row, to=node)

    def first_use():
        for node in rng.sample(list(topics) * ASKED, len(topics) * ASKED):
            ask(node).examined = True  # it need not know yet

    nodes.crash_controllers(meanwhile=first_use)
    for node, topic in topics.items():
        wire.eventually(lambda node=node: ask(node).must_have("topics[0].error_code", 0), within=WITHIN_S)
        wire.await_topic(topic)
        wire.produce(topic, batch("a")).must_be_at(0)

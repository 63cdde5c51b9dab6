"""Transactions in drawn steps where the brokers do not verify that they are open."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions.drawn import APIS, follow
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.wire import errors

VERIFICATION = "transaction.partition.verification.enable"
ALL, TURNS, WITHIN_S = "", 40, 15


@case(
    "transactions/whatever-comes-next-unverified",
    guarantees=["txn-001", "txn-002", "txn-004", "txn-006", "txn-007", "txn-026"],
    apis={**APIS, "IncrementalAlterConfigs": 0, "DescribeConfigs": 0},
    needs=["partitions", "settings", "started"],
    since="3.6 (KIP-890)",
    detects=["B317"],
)
def every_log_follows_its_transactions_unverified(wire, topic_of, rng):
    """With transaction.partition.verification.enable=false, whatever producers write, commit, abort and begin anew in
    whatever order, each partition MUST have the end and the last stable offset of its transactions, MUST list the open
    ones with their start, and MUST hold what was committed for readers. Partitions MUST join a transaction of
    transaction.version 2 by being written to all the same.

    The steps of transactions/whatever-comes-next, 40 of them.
    """
    answer = wire.change_configs(BROKER, ALL, [(VERIFICATION, SET, "false")])
    if answer.struct.responses[0].error_code in (errors.INVALID_CONFIG, errors.INVALID_REQUEST):
        wire.not_applicable(f"the brokers have no {VERIFICATION}", "refused-by-settings")
    answer.must_succeed()
    try:
        wire.until(lambda: wire.setting(VERIFICATION) != "true", within=WITHIN_S, what=f"{VERIFICATION} is false")
        follow(wire, topic_of, rng, TURNS)
    finally:
        wire.change_configs(BROKER, ALL, [(VERIFICATION, DELETE, None)]).examined = True
    wire.until(lambda: wire.setting(VERIFICATION) != "false", within=WITHIN_S, what=f"{VERIFICATION} is as it was")

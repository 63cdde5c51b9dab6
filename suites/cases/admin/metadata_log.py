"""The topic of a KRaft cluster's metadata log (KIP-500, KIP-595): no client may create it."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

NAME, ROLES = "__cluster_metadata", "process.roles"


@case(
    "admin/metadata-log-is-not-made",
    guarantees=["adm-002", "prod-016"],
    apis={"CreateTopics": 4},
    features={"metadata.version": 1},
    detects=["K04", edit_answer("topics[].error_code", set=0, api="CreateTopics")],
)
def the_metadata_log_is_no_topic_of_a_client(wire):
    """Where the cluster keeps its metadata in a log, creating a topic of that log's name MUST be refused, as a request
    that cannot be (INVALID_TOPIC_EXCEPTION or INVALID_REQUEST) and not for lack of permission.

    Asked with validate_only: made in earnest it would share the folder of the log. That there is one is seen by the
    roles that the brokers report (KIP-500), or by its quorum (KIP-595); elsewhere the name is as good as any.
    """
    if not wire.setting(ROLES) and not _has_a_quorum(wire):
        wire.not_applicable(f"no broker reports {ROLES} or a quorum of {NAME}")
    answer = wire.create_topic(NAME, validate_only=True)
    answer.must_be_refused(errors.INVALID_TOPIC_EXCEPTION, errors.INVALID_REQUEST)


def _has_a_quorum(wire):
    if not wire.versions("DescribeQuorum"):
        return False
    log = {"topic_name": NAME, "partitions": [{"partition_index": 0}]}
    return not wire.ask(request("DescribeQuorum", topics=[log])).error

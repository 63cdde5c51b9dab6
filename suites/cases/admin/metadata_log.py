"""The topic of a KRaft cluster's metadata log (KIP-500, KIP-595): no client may create it."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors

NAME = "__cluster_metadata"


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

    Asked with validate_only: made in earnest it would share the folder of the log.
    """
    answer = wire.create_topic(NAME, validate_only=True)
    answer.must_be_refused(errors.INVALID_TOPIC_EXCEPTION, errors.INVALID_REQUEST)

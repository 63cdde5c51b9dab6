"""What clients do in a trial. Cases import the nouns from here."""

from brokertrial.suites.workloads.commits import Commits
from brokertrial.suites.workloads.copies import Copies
from brokertrial.suites.workloads.group_churn import GroupChurn
from brokertrial.suites.workloads.pipeline import Pipeline
from brokertrial.suites.workloads.send_and_read import SendAndRead
from brokertrial.suites.workloads.sending import ONE_AT_A_TIME
from brokertrial.suites.workloads.transactions import Transactions
from brokertrial.suites.workloads.write_then_read import WriteThenRead

__all__ = [
    "ONE_AT_A_TIME",
    "Commits",
    "Copies",
    "GroupChurn",
    "Pipeline",
    "SendAndRead",
    "Transactions",
    "WriteThenRead",
]

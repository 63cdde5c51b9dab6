"""What clients do in a trial. Cases import the nouns from here."""

from suites.workloads.commits import Commits
from suites.workloads.group_churn import GroupChurn
from suites.workloads.send_and_read import SendAndRead
from suites.workloads.transactions import Transactions

__all__ = ["Commits", "GroupChurn", "SendAndRead", "Transactions"]

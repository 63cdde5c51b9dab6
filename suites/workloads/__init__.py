"""What clients do in a trial. Cases import the nouns from here."""

from suites.workloads.commits import Commits
from suites.workloads.copies import Copies
from suites.workloads.group_churn import GroupChurn
from suites.workloads.pipeline import Pipeline
from suites.workloads.send_and_read import SendAndRead
from suites.workloads.sending import ONE_AT_A_TIME
from suites.workloads.transactions import Transactions

__all__ = ["ONE_AT_A_TIME", "Commits", "Copies", "GroupChurn", "Pipeline", "SendAndRead", "Transactions"]

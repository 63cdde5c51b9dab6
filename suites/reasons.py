"""The kinds of reasons, with what reports call them; files and signatures keep the kind itself."""

from __future__ import annotations

LABELS = {
    # failed
    "statement": "wrong response",
    "protocol": "protocol violation",
    "no-answer": "no response",
    "died": "broker crashed",
    "sick": "broker stopped accepting records",
    "anomaly": "anomaly",
    "claim": "claimed feature not supported",
    "requires": "required API not supported",  # of an area that `--require` names
    # inconclusive: the broker was neither cleared nor convicted
    "suite": "internal error of the suite",  # an exception of ours
    "client": "client library at fault",
    "no-hit": "fault never triggered",
    "too-few-operations": "too few operations",
    "final-read-incomplete": "final read incomplete",
    "out-of-reach": "broker out of reach of the fault",
    "unhealed": "fault not healed",
    "leak": "client bypassed the proxy",
    "checks-inconclusive": "checks could not decide",
    "unreproduced": "anomaly not reproduced",  # an earlier attempt saw it, the last did not
    "unobserved": "too few observations",  # of a check that decides a guarantee of the case
    "search-limit": "search without end",  # of an order that explains the answers (suites/closing_look/coordinators.py)
    "history": "history incomplete",
    "unwritten": "history could not be written",
    "tampered": "history does not match its case",
    "interrupted": "interrupted",
    "went-away": "broker went away once",  # one that somebody else runs closed its connections and refused new ones
    "crowded": "other cases were under way",  # an attempt that came to no verdict: the next one is made alone
    "unsettled": "too busy to be judged",  # leaderships moved by themselves, or a member of ours fell silent
    "unreachable": "target unreachable",  # from this machine; it may not be the target's fault
    "slow-target": "target too slow",
    # not applicable: the target lacks what the case needs
    "not-offered": "not supported by the target",
    "missing-capability": "capability missing",
    "came-later": "from a later Apache Kafka release",
    "refused-by-settings": "refused by the target's settings",
    "unsupported": "documented as unsupported",
    "too-slow-here": "would take too long with these settings",
    "cluster-setting": "needs another cluster setting",
    "disclaimed": "disclaimed by the target",
    "needs": "prerequisite failed in another case",
    "no-permission": "no permission",
    "no-effect": "situation without effect",
}


def label(kind: str) -> str:
    """The kind in words; one that this table lacks, as it is."""
    return LABELS.get(kind, kind)

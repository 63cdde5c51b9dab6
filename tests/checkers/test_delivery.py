"""What was acknowledged is there, once, as it was sent: each check finds its anomaly and keeps silent beside it."""


# lost-write


# unseen


def test_what_was_passed_by_is_lost_and_not_unseen_as_well(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))
    tale.final_read(2)

    assert [found.name for found in tale.anomalies("lost-write", "unseen")] == ["lost-write"]


# duplicate


# phantom

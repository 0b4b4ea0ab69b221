"""Every case of the table: derivatives against differences, batches against loops; and what the table says of ops."""

import numpy as np
import pytest

from numlift import _core

from gradcheck import cases, check

CASES = [(f"{family.__name__}: {name}", function, args) for family in cases.FAMILIES for name, function, args in family()]


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name, function, args", CASES, ids=[name for name, *_ in CASES])
@pytest.mark.filterwarnings("ignore")
def test_case(name, function, args):
    check.check_value_and_vjp(function, args)
    check.check_jvp(function, args)
    check.check_vmap(function, args, exact=False)
    if name.split(": ")[1] not in cases.OF_UNKNOWN_SIZE:
        check.check_second_order(function, args)


def test_an_op_without_a_rule_says_why():
    for one in _core.op_rules():
        assert "pending" not in (one["gradient"], one["batching"])
    reasons = {one["no_gradient"] for one in _core.op_rules()} - {""}
    assert len(reasons) == 4 and all(len(reason) > 20 for reason in reasons)

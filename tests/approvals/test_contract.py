"""Every store of approvals keeps every promise of the published contract."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent_adapter.approvals import ApprovalDecision, ApprovalStore, MemoryApprovalStore
from agent_adapter.errors import ApprovalConflict
from agent_adapter.testing.approvals import APPROVAL_STORE, approval_request
from agent_adapter.testing.stores import Promise


@pytest.fixture(params=["memory", "sqlite"])
def approvals(request: pytest.FixtureRequest) -> ApprovalStore:
    if request.param == "memory":
        return MemoryApprovalStore()
    made: ApprovalStore = request.getfixturevalue("sqlite_approvals")
    return made


@pytest.mark.parametrize("promise", APPROVAL_STORE, ids=lambda promise: promise.__name__)
async def test_keeps(promise: Promise, approvals: ApprovalStore) -> None:
    await promise(approvals)


def test_threads_and_loops_that_race_have_one_winner_each(approvals: ApprovalStore) -> None:
    """Item 26: eight loops in eight threads use one store object; each request has one verdict and one use."""
    together = threading.Barrier(8)

    def take(name: int, request_id: str) -> list[bool]:
        together.wait()
        won = []
        decision = ApprovalDecision(approved=True, edits={"by": name})
        for doing in (
            approvals.decide(request_id, decision),
            approvals.consume(request_id, f"call of {name}"),
        ):
            try:
                asyncio.run(doing)
            except ApprovalConflict:
                won.append(False)
            else:
                won.append(True)
        return won

    with ThreadPoolExecutor(8) as pool:
        for n in range(10):
            asyncio.run(approvals.park(approval_request(f"r{n}")))
            won = list(pool.map(take, range(8), [f"r{n}"] * 8))
            assert [sum(each[place] for each in won) for place in (0, 1)] == [1, 1]

"""A parked call that a durable tool resumes: whoever recovers that tool may go on with it, and nobody else may."""

import pytest
from tests.exec.loop_kit import RUN, Lab, Outage, ask, said

from agent_adapter import (
    ApprovalConflict,
    Executor,
    MemoryApprovalStore,
    Registry,
    StoreApprovals,
    ToolCall,
    tool,
)


class Desk:
    """A mail that waits for approval, and a durable tool that says yes to it."""

    def __init__(self, store) -> None:
        self.lab = Lab(store)
        self.approvals = MemoryApprovalStore()
        self.executor = Executor(
            Registry([self.lab.tools.get("mail")]), approvals=StoreApprovals(self.approvals)
        )

        @tool(idempotent=True)
        async def clerk() -> str:
            return str((await self.executor.resume(self.parked, True)).value)

        self.lab.tools = Registry([clerk])
        self.lab.play([ask("clerk", "c")], "end")

    async def park(self) -> None:
        result = await self.executor.run_call(ToolCall("m", "mail", {"to": "ann"}))
        self.parked = result.approval


@pytest.fixture
async def desk(store) -> Desk:
    desk = Desk(store)
    await desk.park()
    return desk


async def test_a_crash_after_the_decision_was_used_up_does_not_lose_it(desk):
    """Items 115, 116: the worker dies before it is stored that the mail begins."""
    lab = desk.lab
    lab.break_at(3)
    with pytest.raises(Outage):
        await lab.run()
    assert (lab.tape.writes[-1], lab.ran) == ("claim started", [])
    result = await lab.recover()
    assert said(result)[2] == ("tool", "mailed ann")
    assert lab.ran == [("mail", "ann")]


@pytest.mark.parametrize("write", range(2, 7))
async def test_wherever_the_worker_dies_the_mail_is_sent_once(desk, write):
    """Items 115, 116."""
    lab = desk.lab
    lab.break_at(write)
    with pytest.raises(Outage):
        await lab.run()
    given = {"rerun_in_doubt": True} if lab.ran and write == 4 else {}
    await lab.recover(**given)
    assert lab.ran == [("mail", "ann")] * (2 if given else 1)


async def test_another_run_cannot_use_the_decision_again(desk):
    """Item 116: one decision, one call."""
    lab = desk.lab
    await lab.run()
    result = await lab.run(run_id=f"{RUN}-other")
    with pytest.raises(ApprovalConflict):
        await desk.executor.resume(desk.parked, True)
    assert "ApprovalConflict" in said(result)[2][1]
    assert lab.ran == [("mail", "ann")]

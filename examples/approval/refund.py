"""A refund that a person has to approve, in three processes: no framework, no server, no key.

    python refund.py start            the agent wants to refund; the run pauses
    python refund.py approve          somebody approves what is waiting
    python refund.py resume           another process goes on; the refund runs once

Everything is in `refunds.db` in the present folder. The model is a scripted one, so nothing is called over a network.
"""

import asyncio
import sys

from agent_adapter import (
    ApprovalDecision,
    Executor,
    SQLiteApprovalStore,
    StoreApprovals,
    ToolCall,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.testing.models import ScriptedModel

STORE = "refunds.db"
RUN = "refund-ada"


@tool(read_only=True)
def find_order(customer: str) -> dict[str, int]:
    """The customer's last order."""
    return {"order": 17, "cents": 4200}


@tool(confirm=True)
def refund(order: int, cents: int) -> str:
    """Give the money back."""
    print(f"  -> refunding {cents} cents for order {order}")
    return f"refunded {cents} cents"


MODEL = ScriptedModel(
    [
        [ToolCall("find", "find_order", {"customer": "Ada"})],
        [ToolCall("refund", "refund", {"order": 17, "cents": 4200})],
        "Ada has her 42 euros back.",
    ],
    # Each process makes a model anew; it goes on where the conversation is.
    by_history=True,
)
TOOLS = [find_order, refund]


async def main(command: str) -> None:
    """Do one of the three things."""
    approvals = SQLiteApprovalStore(STORE)
    executor = Executor(approvals=StoreApprovals(approvals))
    if command == "start":
        result = await run_tool_loop(
            MODEL, TOOLS, "Refund Ada's order.", checkpoints=STORE, run_id=RUN, executor=executor
        )
        for request in result.pending:
            print(f"{result.status}: {request.tool}({request.arguments}) waits for a person")
    elif command == "approve":
        for request in await approvals.list_pending():
            await approvals.decide(
                request.id, ApprovalDecision(approved=True, decided_by="Grace", reason="on time")
            )
            print(f"approved: {request.tool}({request.arguments})")
    else:
        result = await recover_tool_loop(MODEL, TOOLS, RUN, checkpoints=STORE, executor=executor)
        print(f"{result.status}: {result.messages[-1].text}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

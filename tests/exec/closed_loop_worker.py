"""A process whose event loop is closed while a run is under way, and that recovers the run on a new loop."""

import asyncio
import json
import os
import sys
from typing import Any

from agent_adapter import RecoveryNeedsDecision, ToolCall, recover_tool_loop, run_tool_loop, tool
from agent_adapter.testing.models import ScriptedModel


def main(path: str, word: str) -> dict[str, Any]:
    ran: list[int] = []
    begun = asyncio.Event()

    @tool
    async def charge(cents: int) -> str:
        ran.append(cents)
        if len(ran) == 1:
            begun.set()
            await asyncio.Event().wait()
        return f"charged {cents}"

    def model() -> ScriptedModel:
        return ScriptedModel([[ToolCall("a", "charge", {"cents": 5})], "done"], by_history=True)

    loop = asyncio.new_event_loop()
    running = loop.create_task(
        run_tool_loop(model(), [charge], "go", checkpoints=path, run_id="run-1")
    )
    loop.run_until_complete(begun.wait())
    loop.close()
    assert not running.done()
    recovering = recover_tool_loop(
        model(), [charge], "run-1", checkpoints=path, rerun_in_doubt=word == "rerun"
    )
    try:
        result = asyncio.run(asyncio.wait_for(recovering, 20))
    except RecoveryNeedsDecision as needed:
        return {"dead": [call.owner_known_dead for call in needed.calls], "ran": ran}
    return {"texts": [message.text for message in result.messages], "ran": ran}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
    sys.stdout.flush()
    # What the closed loop left behind complains when it is collected.
    os._exit(0)

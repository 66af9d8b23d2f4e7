"""What an MCP server says of its tool is believed only on request; that a tool is destructive is always believed."""

import pytest
from adk_kit import ScriptedModel, agent, ask
from adk_mcp import toolset

READS = {"readOnlyHint": True}
REPEATS = {"idempotentHint": True}
DESTROYS = {"idempotentHint": True, "readOnlyHint": True, "destructiveHint": True}
# The hints, whether they are believed, the effects once the server had died in the call, and what is asked.
CASES = {
    "repeats, not trusted": (REPEATS, False, 1, ["raised"]),
    "reads, not trusted": (READS, False, 1, ["raised"]),
    "repeats, trusted": (REPEATS, True, 2, []),
    "reads, trusted": (READS, True, 1, []),
    "destroys, trusted": (DESTROYS, True, 1, ["raised"]),
    "says nothing, trusted": (None, True, 1, ["raised"]),
}


@pytest.mark.parametrize("case", CASES)
async def test_hints(*, case, tmp_path, make_durable, make_chat, oracle):
    hints, trust, effects, causes = CASES[case]
    tools = toolset(tmp_path, hints=hints, dies="pay:a")
    durable = make_durable(trust_annotations=trust)
    chat = make_chat(agent(ScriptedModel([ask("pay", "a")]), tools), with_=durable)

    await chat.say()

    assert oracle.lines == ["pay:a"] * effects
    assert [each.cause for each in await chat.pending()] == causes

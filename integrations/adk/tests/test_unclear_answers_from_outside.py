"""`answer` posts nothing that does not plainly say what is decided; ADK itself would read some of it as a yes."""

import pytest
from adk_kit import ScriptedModel, agent, ask

from agent_adapter.errors import ToolUsageError
from agent_adapter.policies import ToolPolicy


@pytest.fixture
def wiping(oracle, make_durable, make_chat):
    def made(ours):
        durable = make_durable(policies={"wipe": ToolPolicy(confirm=ours)})
        wipe = oracle.tool("wipe", require_confirmation=not ours)
        return make_chat(agent(ScriptedModel([ask("wipe", "a")]), wipe), with_=durable)

    return made


@pytest.mark.parametrize(
    "said", ["yes", {}, None, 1, {"type": "sure"}, {"q-0": "approve"}, {"confirmed": 1}], ids=str
)
@pytest.mark.parametrize("ours", [False, True], ids=["ADK's question", "ours"])
async def test_from_outside_an_unclear_answer_is_refused_too(wiping, oracle, ours, said):
    chat = wiping(ours)
    await chat.say()
    with pytest.raises(ToolUsageError, match="does not plainly answer"):
        await chat.answer(said)
    assert (oracle.lines, len(await chat.pending())) == ([], 1)


@pytest.mark.parametrize(
    "said", [{"type": "edit", "args": {"x": "b"}}, {"type": "respond", "message": "done"}], ids=str
)
async def test_what_adks_own_question_cannot_be_told_is_refused_from_outside(wiping, oracle, said):
    chat = wiping(False)
    await chat.say()
    with pytest.raises(ToolUsageError, match="does not plainly answer"):
        await chat.answer(said)
    assert (oracle.lines, len(await chat.pending())) == ([], 1)

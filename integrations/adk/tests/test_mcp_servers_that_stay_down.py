"""A call that may run again and whose server never answers is not repeated for ever: the run stops, and can be resumed."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_mcp import toolset

from agent_adapter.exec import DidNotHappen
from agent_adapter.policies import ToolPolicy
from agent_adapter_adk import Stopped

POLICIES = {
    "idempotent": ToolPolicy(idempotent=True),
    "its probe denies it": ToolPolicy(reconcile=lambda _arguments, _key: DidNotHappen()),
}


@pytest.mark.parametrize("policy", POLICIES)
async def test_the_run_stops_and_a_resume_goes_on(
    *, policy, tmp_path, make_durable, make_chat, oracle
):
    durable = make_durable(policies={"pay": POLICIES[policy]})

    def worker(**plan):
        root = agent(ScriptedModel([ask("pay", "a")]), toolset(tmp_path, **plan))
        return make_chat(root, with_=durable)

    with pytest.raises(Stopped, match="Connection closed"):
        await worker(dies="pay:a", times=9).say()
    before = oracle.lines
    events = await worker().resume()

    assert (before, oracle.lines) == (["pay:a"] * 2, ["pay:a"] * 3)
    assert responses(events)["pay"]["structuredContent"] == {"did": "pay a"}

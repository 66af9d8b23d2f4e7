"""A store that fails in the middle stops the run: nothing is stored after the call, and a resume goes on."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words
from google.adk.workflow import START, Workflow

from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter_adk import DurableTools, Stopped

# In which state of the payment the store fails: the effects before, and why a person is asked after a resume.
CASES = {"started": ([], []), "done": (["pay:a"], ["died"])}


class Failing(SQLiteCheckpointStore):
    """Fails to note that a payment is in this state."""

    def __init__(self, path, state):
        super().__init__(path)
        self.state = state

    async def claim_call(self, run_id, segment, call, seen, **more):
        if (call.tool, call.state) == ("pay", self.state):
            raise OSError("no space left on device")
        return await super().claim_call(run_id, segment, call, seen, **more)


def root(oracle):
    return agent(ScriptedModel([ask("pay", "a")]), oracle.tool("pay"))


@pytest.fixture
def failing(tmp_path):
    return lambda state: DurableTools(Failing(tmp_path / "runs.db", state))


@pytest.mark.parametrize("state", CASES)
async def test_the_run_stops_with_the_cause(*, state, failing, make_chat, oracle):
    effects, _ = CASES[state]
    chat = make_chat(root(oracle), with_=failing(state))

    with pytest.raises(Stopped, match="OSError: no space left on device") as stopped:
        await chat.say()

    last = (await chat.session()).events[-1]
    assert type(stopped.value.__cause__) is OSError
    assert [call.name for call in last.get_function_calls()] == ["pay"]
    assert oracle.lines == effects


@pytest.mark.parametrize("state", CASES)
async def test_a_resume_goes_on(*, state, failing, make_chat, oracle):
    effects, causes = CASES[state]
    durable = failing(state)
    with pytest.raises(Stopped):
        await make_chat(root(oracle), with_=durable).say()
    durable.store.state = "never"

    chat = make_chat(root(oracle), with_=durable)
    events = await chat.resume()
    asked = await chat.pending()
    if asked:
        events = await chat.answer({"type": "respond", "message": {"did": "pay a"}})

    assert [each.cause for each in asked] == causes
    assert responses(events) == {"pay": {"did": "pay a"}}
    assert words(events) == ["done"]
    assert oracle.lines == (effects or ["pay:a"])


async def test_a_node_stops_too(failing, make_chat, oracle):
    durable = failing("started")
    pay = oracle.function("pay")

    @durable.node
    async def settle(ctx) -> str:
        """Pay."""
        return str(await durable.step(ctx, pay, "a"))

    chat = make_chat(Workflow(name="root", edges=[(START, settle)]), with_=durable)

    with pytest.raises(Stopped, match="OSError"):
        await chat.say()
    assert oracle.lines == []

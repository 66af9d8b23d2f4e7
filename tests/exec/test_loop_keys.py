"""idempotency_key() in a loop: one for every call, the same for every attempt at it."""

import asyncio

import pytest
from tests.exec.loop_kit import Lab, Outage, Tape, ask

from agent_adapter import Executor, RecoveryNeedsDecision, Registry, ToolCall, tool
from agent_adapter.exec import Backoff, LoopAgent, Rerun, agent_tool
from agent_adapter.exec.checkpoints import idempotency_key
from agent_adapter.testing.models import ScriptedModel


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


async def test_every_call_has_a_key_of_its_own(lab):
    """Item 109: equal calls in a turn and in two turns, other arguments, another tool, another run."""
    lab.play(
        [ask("charge", "a", cents=1), ask("charge", "b", cents=1), ask("charge", cents=2)],
        [ask("charge", cents=1), ask("note", text="1")],
        "done",
    )
    await lab.run()
    await lab.run(run_id="run-2")
    assert len(set(lab.keys)) == 10
    assert all(type(key) is str and 0 < len(key) <= 64 for key in lab.keys)


async def test_a_deleted_runs_keys_are_not_used_again(lab):
    """Item 109"""
    lab.play([ask("charge", cents=1)], "done")
    for _ in range(2):
        result = await lab.run()
        await lab.store.delete(result.run_id)
    assert len(set(lab.keys)) == 2


@pytest.mark.parametrize("name", ["charge", "note"])
async def test_the_key_is_the_same_after_every_recovery(lab, name):
    """Item 110: by other workers, in other lives, at other steps."""
    lab.play([ask(name, **({"cents": 1} if name == "charge" else {"text": "a"}))], "done")
    lab.break_at(4 if name == "charge" else 3)
    with pytest.raises(Outage):
        await lab.run(checkpoints=lab.tape)
    for worker in ("b", "c"):
        dying = Tape(lab.store, owner=worker)
        dying.states |= {"b": "dead", lab.store.owner(): "dead"}
        dying.breaks_at = 3 if name == "charge" else 2
        with pytest.raises(Outage):
            await lab.recover(checkpoints=dying, rerun_in_doubt=True)
    lab.tape.states["c"] = "dead"
    await lab.recover(rerun_in_doubt=True)
    assert (len(lab.keys), len(set(lab.keys))) == (4, 1)


async def test_the_key_is_the_same_for_every_retry(lab):
    """Item 110"""

    def fail(text):
        if len(lab.ran) < 3:
            raise OSError

    lab.inside["note"] = fail
    lab.change("note", retry=3)
    lab.play([ask("note", text="a")], "done")
    quick = Executor(approvals=lab.executor.approvals, backoff=Backoff(initial=0.0))
    await lab.run(executor=quick)
    assert (len(lab.keys), len(set(lab.keys))) == (3, 1)


async def test_the_key_is_the_same_on_a_worker_that_was_cut_off(lab):
    """Item 111: and it is the one that the question shows."""
    reached, thawed = asyncio.Event(), asyncio.Event()

    async def freeze(cents):
        if not reached.is_set():
            reached.set()
            await thawed.wait()
            lab.keys.append(idempotency_key())

    lab.inside["charge"] = freeze
    lab.play([ask("charge", cents=1)], "done")
    working = asyncio.create_task(lab.run(checkpoints=Tape(lab.store, owner="a")))
    await reached.wait()
    second = Tape(lab.store, owner="b")
    second.states["a"] = "dead"
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover(checkpoints=second)
    [call] = raised.value.calls
    await lab.recover(checkpoints=second, decisions={call.question_id: Rerun()})
    thawed.set()
    await asyncio.wait([working])
    assert working.exception() is not None
    assert lab.keys == [call.idempotency_key] * 3


async def test_there_is_none_outside_a_durable_run(lab):
    """Item 112"""
    lab.play([ask("charge", cents=1)], "done")
    await lab.run(checkpoints=None, run_id=None)
    assert (lab.keys, idempotency_key()) == ([None], None)


async def test_sync_tools_and_tools_of_agents_have_keys_of_their_own(lab):
    """Item 112"""
    keys = []

    @tool
    def pay() -> str:
        keys.append(idempotency_key())
        return "paid"

    inner = ScriptedModel([[ToolCall("x", "pay")], "paid it"])
    agent = LoopAgent(model=inner, tools=Registry([pay]))
    lab.tools.add(pay)
    lab.tools.add(agent_tool(agent, name="clerk", description="pays"))
    lab.play([ToolCall("a", "pay"), ToolCall("b", "clerk", {"task": "pay"})], "done")
    result = await lab.run(concurrency=1)
    assert [found.value for found in result.tool_results] == ["paid", "paid it"]
    assert (len(keys), len(set(keys)), None in keys) == (2, 2, False)

"""The commonest mistakes with a loop or an executor are named as what they are, with the way out."""

import asyncio

import pytest
from tests.exec.loop_kit import RUN, Lab, Tape, ask, said

from agent_adapter import (
    CheckpointConflict,
    ConfigError,
    Executor,
    ModelError,
    RecoveryNeedsDecision,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.testing.models import ScriptedModel


@tool
async def double(x: int) -> int:
    return 2 * x


async def test_an_executor_takes_a_list_of_tools():
    """Item 17."""
    assert await Executor([double]).run("double", {"x": 2}) == 4


@pytest.mark.parametrize("wrong", [{"double": double}, [double.fn], double, 5])
def test_what_is_no_registry_is_refused_when_the_executor_is_made(wrong):
    with pytest.raises(ConfigError, match="registry"):
        Executor(wrong)


async def test_a_run_id_that_is_taken_is_named_with_both_ways_out(store):
    lab = Lab(store)
    lab.play([ask("charge", cents=5)], "done")
    await lab.run()
    with pytest.raises(CheckpointConflict, match=rf"{RUN}.*exists.*recover_tool_loop") as raised:
        await lab.run()
    assert "run_id" in str(raised.value)
    assert lab.ran == [("charge", 5)]


async def test_the_checkpoints_of_a_loop_may_be_a_path(tmp_path):
    path = tmp_path / "runs.db"
    calls = [ask("double", x=2)]
    down = ScriptedModel([calls, ModelError("down")], by_history=True)
    with pytest.raises(ModelError):
        await run_tool_loop(down, [double], "go", checkpoints=path, run_id=RUN)
    model = ScriptedModel([calls, "done"], by_history=True)
    result = await recover_tool_loop(model, [double], RUN, checkpoints=path)
    assert said(result)[2:] == [("tool", "4"), ("assistant", "done")]
    assert path.exists()


@pytest.mark.parametrize(
    ("state", "told"),
    [("dead", "its worker is known to be dead"), ("alive", "its worker is NOT known to be dead")],
)
async def test_a_refused_recovery_says_whether_the_worker_may_still_be_at_the_call(
    store, state, told
):
    """Item 86."""
    lab = Lab(store)
    lab.play([ask("charge", cents=5)], "done")
    lab.tape = Tape(store, owner="first")
    begun = asyncio.Event()

    async def hang(_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    lab.inside["charge"] = hang
    running = asyncio.create_task(lab.run())
    await begun.wait()
    other = Tape(store, owner="second")
    other.states = {"first": state}
    with pytest.raises(RecoveryNeedsDecision, match=f"charge .*{told}"):
        await lab.recover(checkpoints=other)
    running.cancel()
    await asyncio.wait([running])

"""What other products get wrong about cost: bytes that grow with the square, a stalled loop, limits that start again."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.rivals.shop import YES, Shop, agent, ask, play

from agent_adapter import (
    ApprovalDecision,
    ModelError,
    Registry,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    ToolCall,
    tool,
)
from agent_adapter.exec import LoopAgent, agent_tool
from agent_adapter.exec.checkpoints import CallRecord, Checkpoint, SQLiteCheckpointStore
from agent_adapter.models import Message

AWAY = OSError("the provider is away")
RESULT_BYTES = 2_000
IMAGE = {"type": "image", "media_type": "image/png", "data": "iVBORw0K" * 5_400}


class Scale(SQLiteCheckpointStore):
    """Weighs what it is given to write; `turns` has the sum of each turn, which a save begins."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.turns: list[int] = []

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        chunks = sum(len(chunk) for chunk in checkpoint.history)
        self.turns.append(len(checkpoint.document) + chunks)
        await super().save(run_id, step, checkpoint)

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        self.turns[-1] += len(call.document or "")
        return await super().claim_call(run_id, segment, call, seen, step=step)

    @property
    def written(self) -> int:
        """All of it."""
        return sum(self.turns)


@pytest.mark.parametrize("at_once", [1, 4])
async def test_a_turn_costs_the_same_however_long_the_run_is(shop: Shop, path: Path, at_once: int):
    """W16: the eightieth turn writes what the tenth one did, and all of them a small multiple of the results."""

    @tool
    async def read(n: int) -> str:
        return chr(97 + n % 26) * RESULT_BYTES

    scale, turns = Scale(path), 80
    calls = [
        [ask("read", 1000 + at_once * turn + n) for n in range(at_once)] for turn in range(turns)
    ]
    await shop.run(play(*calls, "done"), [read], checkpoints=scale, max_steps=turns + 1)
    # Each result is written twice: in the record of its call, and in the history.
    results = turns * at_once * RESULT_BYTES
    assert scale.turns[80] <= 1.05 * scale.turns[10]
    assert 2 * results < scale.written < 3.5 * results


async def test_an_agent_of_eighty_turns_costs_no_more(shop: Shop, path: Path):
    """W16: an agent's turns are records of the one that called it, and none is written again with the next."""

    @tool
    async def read(n: int) -> str:
        return chr(97 + n % 26) * RESULT_BYTES

    written = []
    for turns in (20, 80):
        scale = Scale(path.with_name(f"{turns}.db"))
        inner = play(*[[ask("read", 1000 + turn)] for turn in range(turns)], "read it all")
        to = LoopAgent(model=inner, tools=Registry([read]), max_steps=turns + 1)
        helper = agent_tool(to, name="helper", description="")
        await shop.run(play([ask("helper", "t")], "done"), [helper], checkpoints=scale)
        written.append(scale.written / turns)
    assert written[1] <= 1.05 * written[0] < 3 * RESULT_BYTES


async def test_an_image_is_stored_once_and_comes_back_as_it_was(shop: Shop, path: Path):
    """W20: four tools later it has not been written again, and after a crash the model is not shown base64 as text."""
    scale = Scale(path)
    content = [{"type": "text", "text": "what is this?"}, IMAGE]
    calls = [[ask("charge", n)] for n in range(4)]
    with pytest.raises(ModelError):
        await shop.run(
            play(*calls, AWAY),
            [shop.charge],
            messages=[Message("user", content)],
            checkpoints=scale,
        )
    size = len(IMAGE["data"])
    assert size < scale.written < 1.3 * size
    model = play(*calls, "a cat")
    await shop.recover(model, [shop.charge])
    (request,) = model.requests
    assert request.messages[0].content == content
    assert max(len(message.text) for message in request.messages) < 100


async def test_a_locked_file_does_not_stall_the_event_loop(shop: Shop, path: Path):
    """W21: while another process holds the writer's lock other tasks go on, and the run ends once it lets go."""
    # With a key of its own the run needs no write to find one: the first one is made on the loop.
    given: dict[str, Any] = {"checkpoint_key": "k" * 32}
    await shop.run(play([ask("pay", 5)]), [shop.pay], **given)
    await shop.decide(YES)
    model = play([ask("pay", 5)], "done")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        recovering = asyncio.create_task(shop.recover(model, [shop.pay], **given))
        # A stalled loop would not get to the end of this, where the lock is let go.
        for _ in range(20):
            await asyncio.wait([recovering], timeout=0.01)
        assert (recovering.done(), shop.effects) == (False, [])
        other.execute("COMMIT")
    assert (await recovering).status == "done"
    assert shop.effects == ["pay 5"]


async def test_a_file_that_stays_locked_does_not_cost_the_run(shop: Shop, path: Path):
    """W21: the store's error comes out, no effect happened that nothing knows of, and the run goes on later."""
    with pytest.raises(ModelError):
        await shop.run(play([ask("charge", 1)], AWAY), [shop.charge])
    script = ([ask("charge", 1)], [ask("charge", 2)], "done")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        hasty = SQLiteCheckpointStore(path, timeout=0.05)
        with pytest.raises(sqlite3.OperationalError):
            await shop.recover(play(*script), [shop.charge], checkpoints=hasty)
        other.execute("ROLLBACK")
    assert shop.effects == ["charge 1"]
    assert (await shop.recover(play(*script), [shop.charge])).status == "done"
    assert shop.effects == ["charge 1", "charge 2"]


def limited(**limits: Any) -> RunContext:
    """The context of one life of the run; the limits are those of the whole run."""
    return RunContext(limits=RunLimits(**limits))


async def test_what_was_used_before_a_pause_counts_after_it(shop: Shop):
    """W26: tokens, model calls and tool calls of all lives."""
    script = ([ask("charge", 1), ask("pay", 2)], [ask("pay", 3)], "done")
    tools = [shop.charge, shop.pay]
    await shop.run(play(*script), tools)
    await shop.decide(YES)
    await shop.recover(play(*script), tools, ctx=RunContext())
    await shop.decide(YES)
    ctx = RunContext()
    result = await shop.recover(play(*script), tools, ctx=ctx)
    used = ctx.meter.used()
    assert (result.status, result.steps) == ("done", 3)
    assert (used["tokens"], used["model_calls"], used["tool_calls"]) == (30, 3, 3)


async def test_what_an_agent_used_before_a_pause_counts_after_it(shop: Shop):
    """W26: its tokens and calls too, each once."""
    script = ([ask("helper", "t")], "done")
    helper = agent(play([ask("charge", 1)], [ask("pay", 5)], "paid"), shop.charge, shop.pay)
    await shop.run(play(*script), [helper])
    await shop.decide(YES)
    ctx = RunContext()
    await shop.recover(play(*script), [helper], ctx=ctx)
    used = ctx.meter.used()
    assert (used["tokens"], used["model_calls"], used["tool_calls"]) == (50, 5, 3)


async def test_a_limit_does_not_start_again_with_a_resume(shop: Shop):
    """W26: of 25 tokens each of three lives uses ten; the calls of the third reply do not begin, in a fourth neither."""
    script = ([ask("pay", 1)], [ask("pay", 2)], [ask("charge", 3)], "done")
    tools = [shop.pay, shop.charge]
    await shop.run(play(*script), tools, ctx=limited(max_tokens=25))
    await shop.decide(YES)
    paused = await shop.recover(play(*script), tools, ctx=limited(max_tokens=25))
    assert paused.status == "paused"
    await shop.decide(YES)
    for _ in range(2):
        with pytest.raises(RunLimitExceeded, match="max_tokens"):
            await shop.recover(play(*script), tools, ctx=limited(max_tokens=25))
    assert shop.effects == ["pay 1", "pay 2"]
    result = await shop.recover(play(*script), tools, ctx=limited(max_tokens=99))
    assert (result.status, shop.effects[2:]) == ("done", ["charge 3"])


async def test_durable_calls_of_a_turn_run_side_by_side(shop: Shop):
    """W28: none of the three ends before all of them have begun."""
    all_here = asyncio.Barrier(3)

    @tool
    async def meet(n: int) -> str:
        await asyncio.wait_for(all_here.wait(), 20)
        return f"met {n}"

    result = await shop.run(play([ask("meet", n) for n in range(3)], "done"), [meet])
    assert [each.value for each in result.tool_results] == ["met 0", "met 1", "met 2"]


@pytest.mark.parametrize("text", ["a\x00b", "\x00", "\ud83d\ude00 \U0001f600", "\ufffe\uffff"])
async def test_a_result_of_any_characters_ends_the_turn_and_comes_back(shop: Shop, text: str):
    """W29: NUL too; the model is told the same before and after a crash, and the tool ran once."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    ran: list[int] = []

    @tool
    async def read(n: int) -> str:
        ran.append(n)
        return text

    with pytest.raises(ModelError):
        await shop.run(play([ask("read", 1)], AWAY), [read])
    model = play([ask("read", 1)], "done")
    await shop.recover(model, [read])
    (request,) = model.requests
    assert (request.messages[-1].text, ran) == (text, [1])


async def test_nul_in_arguments_and_in_a_decision_stops_nothing(shop: Shop):
    """W29: a person is shown it, and the tool gets it."""
    got: list[str] = []

    @tool(confirm=True)
    async def write(text: str) -> str:
        got.append(text)
        return text

    script = ([ToolCall("1", "write", {"text": "a\x00b"})], "done")
    paused = await shop.run(play(*script), [write], messages="\x00")
    assert paused.pending[0].arguments == {"text": "a\x00b"}
    await shop.decide(ApprovalDecision(approved=True, decided_by="ann\x00", reason="\x00"))
    result = await shop.recover(play(*script), [write])
    assert (result.status, got) == ("done", ["a\x00b"])

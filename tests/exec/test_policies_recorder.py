"""A journal with a Recorder: asked before any policy, told once how a call ends, whatever way it does."""

import asyncio
import threading
from typing import Any

import pytest

from agent_adapter import (
    ApprovalDecision,
    CheckpointConflict,
    Executor,
    Registry,
    RunLimitExceeded,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from agent_adapter.exec import register_control_flow
from agent_adapter.exec.integration import (
    Recorder,
    Slot,
    digest,
    encode,
    make_journal,
    visit_scope,
)
from agent_adapter.policies import Deny, Guard, MemoryCache


class Pause(Exception):
    pass


register_control_flow(Pause)


class Record:
    """A Recorder that notes its calls and answers with what it was given, by method and tool."""

    run_id, life = "run-1", "life-1"

    def __init__(self, **answers: Any) -> None:
        self.log: list[str] = []
        self.slots: list[Slot] = []
        self.answers = answers
        self.told = asyncio.Event()

    def _act(self, event: str, slot: Slot, *said: Any) -> Any:
        self.log.append(" ".join([event, slot.tool, *map(str, said)]))
        answer = self.answers.get(f"{event}_{slot.tool}")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def look(self, slot: Slot) -> ToolResult | None:
        self.slots.append(slot)
        return self._act("look", slot)

    async def started(self, slot: Slot) -> ToolResult | None:
        return self._act("started", slot)

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        self._act("settle", slot, result.status)

    async def decide(self, slot: Slot, request: Any) -> ApprovalDecision | None:
        return self._act("decide", slot)

    async def park(self, slot: Slot, request: Any) -> None:
        self.request = request
        self._act("park", slot)

    async def leave(self, slot: Slot, error: BaseException) -> None:
        self._act("leave", slot, type(error).__name__)

    async def late(self, slot: Slot, result: ToolResult) -> None:
        self.late_result = result
        self._act("late", slot, result.status)
        self.told.set()


@tool
async def work(x: int = 1) -> int:
    return x


@tool(confirm=True)
async def pay(x: int = 1) -> str:
    return f"paid {x}"


@tool
async def fail() -> None:
    raise ValueError("no")


async def call(record: Record, name: str, executor: Executor | None = None, **arguments: Any):
    executor = executor or Executor(Registry([work, pay, fail]))
    with visit_scope(None, make_journal(observer=record)):
        return await executor.run_call(ToolCall("c", name, arguments))


async def test_a_call_is_looked_for_started_and_settled():
    record = Record()
    assert isinstance(record, Recorder)
    assert (await call(record, "work")).value == 1
    assert record.log == ["look work", "started work", "settle work ok"]


async def test_a_failed_call_is_settled():
    record = Record()
    await call(record, "fail")
    assert record.log == ["look fail", "started fail", "settle fail error"]


KNOWN = ToolResult(call_id="old", tool="old", value="recorded", replayed=True)


async def test_what_is_recorded_comes_before_every_policy_and_is_only_settled():
    """A replay: no guard, limit, approval, cache or hook."""
    asked = []

    class Refusing(Guard):
        def before(self, call, ctx):
            asked.append(call)
            return Deny("no")

    executor = Executor(Registry([pay]), guards=(Refusing(),), cache=MemoryCache())
    record = Record(look_pay=KNOWN)
    result = await call(record, "pay", executor)
    assert (result.value, result.call_id, result.tool, result.replayed) == (
        "recorded",
        "c",
        "pay",
        True,
    )
    assert (record.log, asked) == (["look pay", "settle pay ok"], [])


async def test_what_the_record_answers_is_in_the_journals_data_too():
    journal = make_journal(observer=Record(look_work=KNOWN))
    with visit_scope(None, journal):
        await Executor(Registry([work])).run("work")
    assert list(journal.data()["calls"].values()) == [{"value": "recorded"}]


async def test_what_the_journal_itself_replays_begins_nowhere():
    journal, record = make_journal(), Record()
    with visit_scope(None, journal):
        await Executor(Registry([work])).run("work")
    with visit_scope(None, make_journal(journal.data(), observer=record)):
        assert await Executor(Registry([work])).run("work") == 1
    assert record.log == ["settle work ok"]


async def test_another_worker_may_be_faster_and_then_its_result_counts():
    record = Record(started_work=KNOWN)
    result = await call(record, "work")
    assert (result.value, result.replayed) == ("recorded", True)
    assert record.log == ["look work", "started work", "settle work ok"]


async def test_a_refused_call_is_settled_without_a_start():
    record = Record()
    executor = Executor(Registry([work]), guards=(lambda call, ctx: Deny("no"),))
    await call(record, "work", executor)
    assert record.log == ["look work", "settle work denied"]


async def test_a_call_that_waits_is_parked_under_the_runs_name_and_settled():
    record = Record()
    result = await call(record, "pay", x=3)
    assert record.log == ["look pay", "decide pay", "park pay", "settle pay pending"]
    assert (record.request.run_id, record.request.id) == ("run-1", result.approval)
    assert record.request.digest == digest(encode({"x": 3}))


async def test_the_same_call_of_the_same_life_makes_the_same_request_and_no_other_does():
    """Item 116."""

    async def ask(life: str, *amounts: int) -> list[str]:
        record = Record()
        record.life = life
        with visit_scope(None, make_journal(observer=record)):
            calls = [ToolCall("c", "pay", {"x": x}) for x in amounts]
            return [r.approval for r in await Executor(Registry([pay])).run_many(calls)]

    first = await ask("a", 1, 1, 2)
    assert await ask("a", 1, 1, 2) == first
    assert len({*first, *await ask("b", 1, 1, 2)}) == 6


async def test_a_decision_that_the_record_holds_lets_the_call_run():
    decision = ApprovalDecision(approved=True)
    record = Record(decide_pay=decision)
    assert (await call(record, "pay")).value == "paid 1"
    assert record.log == ["look pay", "decide pay", "started pay", "settle pay ok"]
    assert record.slots[0].decision is decision


@pytest.mark.parametrize(
    "error",
    [Pause(), RunLimitExceeded("max_tokens"), CheckpointConflict("run", "gone"), SystemExit()],
    ids=lambda error: type(error).__name__,
)
async def test_a_call_that_something_escapes_from_is_left_and_not_settled(error):
    @tool
    def leave() -> None:
        raise error

    record = Record()
    with pytest.raises(type(error)):
        await call(record, "leave", Executor(Registry([leave])))
    assert record.log == ["look leave", "started leave", f"leave leave {type(error).__name__}"]


async def test_what_escapes_from_a_policy_leaves_the_call_too():
    class Port:
        async def request(self, request, ctx):
            raise Pause

    record = Record()
    with pytest.raises(Pause):
        await call(record, "pay", Executor(Registry([pay]), approvals=Port()))
    assert record.log == ["look pay", "decide pay", "leave pay Pause"]


@pytest.mark.parametrize(
    ("failing", "log"),
    [
        ("look", ["look work"]),
        ("started", ["look work", "started work", "leave work CheckpointConflict"]),
        ("settle", ["look work", "started work", "settle work ok"]),
    ],
)
async def test_an_error_of_the_record_escapes_and_exactly_one_end_is_told(failing, log):
    error = CheckpointConflict("run", "taken over")
    record = Record(**{f"{failing}_work": error})
    with pytest.raises(CheckpointConflict) as caught:
        await call(record, "work")
    assert (caught.value, record.log) == (error, log)


async def test_a_cancelled_call_is_left():
    running = asyncio.Event()

    @tool
    async def long() -> None:
        running.set()
        await asyncio.Event().wait()

    record = Record()
    task = asyncio.create_task(call(record, "long", Executor(Registry([long]))))
    await running.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert record.log == ["look long", "started long", "leave long CancelledError"]


@pytest.mark.parametrize("fails", [False, True])
async def test_the_late_end_of_a_body_that_was_given_up_is_told(fails):
    release = threading.Event()

    @tool(timeout=0.02)
    def slow() -> str:
        release.wait(10)
        if fails:
            raise ValueError("late")
        return "late"

    record = Record()
    result = await call(record, "slow", Executor(Registry([slow])))
    release.set()
    await record.told.wait()
    assert result.error.kind == "timeout"
    assert record.log[2:] == ["settle slow error", f"late slow {'error' if fails else 'ok'}"]
    late = record.late_result
    assert (late.value, late.error) == (
        (None, ToolError("failed", "ValueError", "late")) if fails else ("late", None)
    )


async def test_an_agents_call_is_a_container_and_another_is_none():
    record = Record()
    agent = Tool(name="agent", fn=lambda: 1, kind="agent")
    executor = Executor(Registry([agent, work]))
    for name in ("agent", "work"):
        await call(record, name, executor)
    assert [slot.container for slot in record.slots] == [True, False]


async def test_a_sync_wrappers_async_rest_is_inside_the_call_too():
    """Calls that the rest of the body makes have their place below it, as any other call inside it."""

    @tool
    def wrapper() -> Any:
        return executor.run("work")

    record, executor = Record(), Executor(Registry([wrapper, work]))
    assert (await call(record, "wrapper", executor)).value == 1
    outer, inner = record.slots
    assert inner.path == f"{outer.key}/"

"""Approval of a call: before the body, for one call, from a person who said so (items 11, 37, 116 to 120)."""

from typing import Any

import pytest

from agent_adapter import (
    ApprovalDecision,
    ApprovalPending,
    ApprovalRequest,
    CheckpointConflict,
    ConfigError,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    Tool,
    ToolCall,
    ToolDenied,
    ToolResult,
    tool,
)
from agent_adapter.exec import register_control_flow
from agent_adapter.exec.integration import digest, encode, make_journal, visit_scope


class Pause(Exception):
    pass


register_control_flow(Pause)

YES = ApprovalDecision(approved=True, decided_by="ada")
NO = ApprovalDecision(approved=False, decided_by="ada", reason="too much")


class Port:
    """Answers every request with the same thing: a decision, None, or an error."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def request(self, request: ApprovalRequest, ctx: RunContext) -> Any:
        self.asked.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class StorePort:
    """Parks requests in a store, and answers with what is decided there."""

    def __init__(self) -> None:
        self.store = MemoryApprovalStore()

    async def request(self, request: ApprovalRequest, ctx: RunContext) -> ApprovalDecision | None:
        return (await self.store.park(request)).decision


class Bench:
    """A tool `pay` that needs approval, and what ran."""

    def __init__(self, port: Any, confirm: Any = True) -> None:
        self.ran: list[int] = []
        self.port = port

        @tool(confirm=confirm)
        def pay(amount: int = 5) -> str:
            self.ran.append(amount)
            return f"paid {amount}"

        self.executor = Executor(Registry([pay]), approvals=port)

    async def call(self, amount: Any = 5, journal: Any = None) -> ToolResult:
        call = ToolCall("c", "pay", {"amount": amount})
        if journal is None:
            return await self.executor.run_call(call)
        with visit_scope(None, journal):
            return await self.executor.run_call(call)


async def test_an_approved_call_runs():
    bench = Bench(Port(YES))
    assert ((await bench.call()).value, bench.ran) == ("paid 5", [5])


async def test_a_person_is_shown_the_validated_arguments_of_the_call():
    bench = Bench(Port(YES))
    await bench.call("7")
    (request,) = bench.port.asked
    assert (request.tool, request.arguments, request.call_id) == ("pay", {"amount": 7}, "c")
    assert request.digest == digest(encode({"amount": 7}))
    assert (request.run_id, request.path) == (None, "")


async def test_a_denied_call_does_not_run_and_its_result_has_the_reason():
    """Item 118."""
    bench = Bench(Port(NO))
    result = await bench.call()
    assert (result.status, result.value, bench.ran) == ("denied", None, [])
    assert (result.error.kind, result.error.message) == ("denied", "denied by ada: too much")
    with pytest.raises(ToolDenied, match="too much"):
        await bench.executor.run("pay")


async def test_a_call_without_a_decision_is_pending_and_has_not_run():
    bench = Bench(Port(None))
    result = await bench.call()
    (request,) = bench.port.asked
    assert (result.status, result.approval, result.error.kind) == ("pending", request.id, "pending")
    with pytest.raises(ApprovalPending) as caught:
        await bench.executor.run("pay", call_id="d")
    assert caught.value.requests == (bench.port.asked[-1],)
    assert bench.port.asked[-1].id in str(caught.value)
    assert bench.ran == []


async def test_a_pending_call_is_no_failure_for_fail_fast():
    bench = Bench(Port(None))
    calls = [ToolCall("a", "pay"), ToolCall("b", "pay")]
    results = await bench.executor.run_many(calls, concurrency=1, on_error="fail_fast")
    assert [result.status for result in results] == ["pending", "pending"]


@pytest.mark.parametrize("answer", [True, 1, "yes", {"approved": True}, object(), False], ids=repr)
async def test_nothing_that_merely_looks_like_a_yes_approves(answer):
    """Item 120."""
    bench = Bench(Port(answer))
    result = await bench.call()
    assert (result.status, bench.ran) == ("denied", [])
    assert "approval port Port answered" in result.error.message


async def test_an_ordinary_error_of_the_port_runs_nothing():
    """Item 11: fail closed."""
    bench = Bench(Port(OSError("down")))
    result = await bench.call()
    assert (result.status, bench.ran) == ("denied", [])
    assert result.error.message == "the approval port failed: OSError"


@pytest.mark.parametrize("error", [Pause(), CheckpointConflict("run", "taken over")], ids=repr)
async def test_control_flow_and_errors_of_a_stored_run_escape_from_the_port(error):
    """Item 11."""
    bench = Bench(Port(error))
    with pytest.raises(type(error)) as caught:
        await bench.call()
    assert (caught.value, bench.ran) == (error, [])


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_function_may_say_whether_a_person_has_to_look(asks, kind):
    seen = []

    def confirm(arguments, ctx):
        seen.append((dict(arguments), ctx.user))
        return asks

    async def confirm_later(arguments, ctx):
        return confirm(arguments, ctx)

    bench = Bench(Port(NO), confirm if kind == "sync" else confirm_later)
    result = await bench.executor.run_call(ToolCall("c", "pay"), RunContext(user="eve"))
    assert result.status == ("denied" if asks else "ok")
    assert (seen, len(bench.port.asked)) == ([({"amount": 5}, "eve")], int(asks))


@pytest.mark.parametrize("answer", [ValueError("no"), None, "no", 0], ids=repr)
async def test_a_function_that_cannot_say_it_runs_nothing(answer):
    def confirm(arguments, ctx):
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench = Bench(Port(YES), confirm)
    result = await bench.call()
    assert (result.status, bench.ran, bench.port.asked) == ("denied", [], [])
    assert "its confirm" in result.error.message


@pytest.mark.parametrize("confirm", [True, lambda arguments, ctx: False], ids=["always", "asks"])
async def test_without_anybody_to_ask_the_setup_is_wrong_and_nothing_runs(confirm):
    """Item 120: there is no default approval."""
    bench = Bench(None, confirm)
    free = tool(name="free")(lambda: bench.ran.append(0))
    with pytest.raises(ConfigError, match=r"tool 'pay' .*Executor\(approvals=…\)"):
        await bench.call()
    registry = Registry([free, *bench.executor.registry])
    calls = [ToolCall("a", "free"), ToolCall("b", "pay")]
    with pytest.raises(ConfigError, match="tool 'pay'"):
        await bench.executor.run_many(calls, registry=registry)
    assert bench.ran == []


async def test_arguments_that_cannot_be_shown_exactly_do_not_run():
    ran = []

    @tool(confirm=True)
    def opaque(x: Any) -> None:
        ran.append(x)

    executor = Executor(Registry([opaque]), approvals=Port(YES))
    result = await executor.run_call(ToolCall("c", "opaque", {"x": object()}))
    assert (result.status, ran) == ("denied", [])
    assert "cannot be shown" in result.error.message


async def test_arguments_that_change_while_a_person_looks_do_not_run():
    """Item 117: what was approved is what runs."""
    ran, handed_in = [], {"to": "bob"}

    @tool(confirm=True)
    def send(x: Any) -> None:
        ran.append(x)

    class Slow(Port):
        async def request(self, request, ctx):
            handed_in["to"] = "eve"
            return YES

    executor = Executor(Registry([send]), approvals=Slow(None))
    result = await executor.run_call(ToolCall("c", "send", {"x": handed_in}))
    assert (result.status, ran) == ("denied", [])
    assert "changed while a person looked" in result.error.message


async def test_a_person_is_asked_before_an_agents_first_line():
    """Item 37: the whole agent call parks."""
    ran = []

    def work(task: str) -> None:
        ran.append(task)

    agent = Tool(name="agent", fn=work, kind="agent", confirm=True)
    executor = Executor(Registry([agent]), approvals=Port(None))
    result = await executor.run_call(ToolCall("c", "agent", {"task": "pay"}))
    assert (result.status, ran) == ("pending", [])


async def test_one_decision_answers_one_request():
    """Item 116: the next call asks again, equal or not."""
    bench = Bench(StorePort())
    journal = make_journal()
    first, second = await bench.call(journal=journal), await bench.call(journal=journal)
    assert first.approval != second.approval
    await bench.port.store.decide(first.approval, YES)
    again = make_journal(journal.data())
    results = [await bench.call(journal=again) for _ in range(2)]
    assert [result.status for result in results] == ["ok", "pending"]
    assert results[1].approval == second.approval
    assert bench.ran == [5]
    assert (await bench.port.store.get(first.approval)).consumer is not None


async def test_a_decision_about_other_arguments_does_not_count():
    """Item 117."""
    bench = Bench(StorePort())
    journal = make_journal()
    parked = await bench.call(5, journal)
    await bench.port.store.decide(parked.approval, YES)
    other = await bench.call(6, make_journal(journal.data()))
    assert (other.status, bench.ran) == ("pending", [])
    assert other.approval != parked.approval


async def test_who_decided_and_why_stays_in_the_store():
    """Item 118."""
    bench = Bench(StorePort())
    journal = make_journal()
    parked = await bench.call(journal=journal)
    await bench.port.store.decide(parked.approval, NO)
    result = await bench.call(journal=make_journal(journal.data()))
    assert (result.status, bench.ran) == ("denied", [])
    stored = (await bench.port.store.get(parked.approval)).decision
    assert (stored.decided_by, stored.reason) == ("ada", "too much")

"""Executor.run and run_call: failures, timeouts, control flow, context, and what is refused."""

import asyncio
import contextvars

import pytest
from pydantic_core import core_schema

from agent_adapter import (
    ConfigError,
    Executor,
    Registry,
    RunContext,
    Tool,
    ToolArgumentsInvalid,
    ToolCall,
    ToolError,
    ToolFailed,
    ToolNotFound,
    ToolResult,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import register_control_flow
from agent_adapter.exec.checkpoints import idempotency_key
from agent_adapter.exec.integration import make_journal, visit_scope

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


class Pause(Exception):
    pass


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


register_control_flow(Pause)


@tool
def double(x: int) -> int:
    return 2 * x


@tool
async def fail(message: str = "no") -> int:
    raise ValueError(message)


@tool
async def never() -> None:
    await asyncio.Event().wait()


executor = Executor(Registry([double, fail, never]))


async def test_run_gives_the_value_of_a_tool_by_name_or_of_the_tool_itself():
    assert await executor.run("double", {"x": "4"}) == 8
    assert await Executor().run(double, {"x": 4}) == 8


async def test_run_call_gives_a_result_that_names_the_call():
    """Item 23."""
    assert await executor.run_call(ToolCall("c1", "double", {"x": 4})) == ToolResult(
        call_id="c1", tool="double", value=8, attempts=1
    )


@pytest.mark.parametrize(
    ("call", "error", "raised"),
    [
        pytest.param(
            ToolCall("c", "triple"),
            ToolError("not_found", "ToolNotFound", "there is no tool named 'triple'"),
            ToolNotFound,
            id="unknown tool",
        ),
        pytest.param(
            ToolCall("c", "double", {"x": "four"}),
            ToolError(
                "invalid",
                "agent_adapter.tools.InvalidArguments",
                "x: Input should be a valid integer, unable to parse string as an integer",
            ),
            ToolArgumentsInvalid,
            id="invalid arguments",
        ),
        pytest.param(
            ToolCall("c", "fail", {"message": "boom"}),
            ToolError("failed", "ValueError", "boom"),
            ToolFailed,
            id="the tool raises",
        ),
    ],
)
async def test_failures_are_in_the_result_and_run_raises_them(call, error, raised):
    """Item 23, and what item 17 compares with."""
    result = await executor.run_call(call)
    assert (result.ok, result.status, result.value, result.error) == (False, "error", None, error)
    with pytest.raises(raised) as caught:
        await executor.run(call.name, call.arguments, call_id="c")
    assert type(caught.value) is raised
    assert (caught.value.tool, caught.value.call_id) == (call.name, "c")


async def test_the_cause_of_a_failed_run_is_the_tools_own_exception():
    error = ValueError("boom")

    @tool
    async def broken() -> None:
        raise error

    with pytest.raises(ToolFailed, match="ValueError: boom") as caught:
        await executor.run(broken)
    assert caught.value.__cause__ is error


async def test_an_exception_without_text_is_still_a_failure():
    @tool
    def broken() -> None:
        raise Broken

    result = await Executor(Registry([broken])).run_call(ToolCall("c", "broken"))
    assert result.error.message == "(its message cannot be rendered)"


def with_validator(error: BaseException) -> Tool:
    """A tool whose argument's validator raises this."""

    class Odd:
        @classmethod
        def __get_pydantic_core_schema__(cls, source, handler):
            def crash(value):
                raise error

            return core_schema.no_info_plain_validator_function(crash)

    def fn(x):
        raise AssertionError("must not run")

    fn.__annotations__["x"] = Odd
    return tool(name="odd")(fn)


async def test_a_validator_that_crashes_makes_the_arguments_invalid():
    odd = with_validator(KeyError("odd"))
    result = await Executor(Registry([odd])).run_call(ToolCall("c", "odd", {"x": 1}))
    assert (result.error.kind, result.error.type) == ("invalid", "KeyError")


async def test_control_flow_of_a_validator_escapes():
    with pytest.raises(Pause):
        await executor.run(with_validator(Pause()), {"x": 1})


@pytest.mark.parametrize(
    "error", [Pause("p"), asyncio.CancelledError("own"), ExceptionGroup("g", [Pause()])]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_control_flow_escapes_unchanged_after_one_attempt_and_is_not_recorded(error, kind):
    """Item 10."""
    attempts = []

    def body() -> None:
        attempts.append(1)
        raise error

    async def async_body() -> None:
        body()

    pausing = tool(name="pausing")(body if kind == "sync" else async_body)
    paused = Executor(Registry([pausing, double]))
    calls = [ToolCall("c", "pausing"), ToolCall("d", "double", {"x": 1})]
    ways = [
        lambda: paused.run("pausing"),
        lambda: paused.run_call(calls[0]),
        lambda: paused.run_many(calls),
        lambda: paused.run_many(calls, on_error="fail_fast"),
    ]
    for way in ways:
        journal = make_journal()
        attempts.clear()
        with visit_scope(None, journal), pytest.raises(type(error)) as caught:
            await way()
        assert caught.value is error
        assert attempts == [1]
        assert not any(key.startswith("pausing") for key in journal.data().get("calls", {}))


@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt()])
async def test_what_is_no_ordinary_error_escapes_from_a_thread(stop):
    def body() -> None:
        raise stop

    with pytest.raises(type(stop)) as caught:
        await executor.run(tool(name="leave")(body))
    assert caught.value is stop


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_tool_sees_a_copy_of_the_callers_context(kind):
    """Field report B67: context variables reach worker threads; writes stay with the tool."""

    def body() -> str:
        seen = tenant.get()
        tenant.set("changed")
        return seen

    async def async_body() -> str:
        return body()

    reader = tool(name="reader")(body if kind == "sync" else async_body)
    token = tenant.set("acme")
    try:
        assert await executor.run(reader) == "acme"
        results = await Executor(Registry([reader])).run_many(
            [ToolCall(str(n), "reader") for n in range(9)]
        )
        assert [result.value for result in results] == ["acme"] * 9
        assert tenant.get() == "acme"
    finally:
        tenant.reset(token)


async def test_the_context_is_handed_to_tools_that_declare_it():
    given = RunContext(user="ada", meta={"k": object()})

    @tool
    def who(ctx: RunContext) -> RunContext:
        return ctx

    @tool
    async def and_who(ctx) -> RunContext:
        return ctx

    registry = Registry([who, and_who])
    calls = [ToolCall("1", "who"), ToolCall("2", "and_who")]
    assert [r.value for r in await Executor(registry).run_many(calls, given)] == [given, given]
    assert await executor.run(who, ctx=given) is given
    assert await executor.run(who) == RunContext()


async def test_a_registry_given_to_a_call_stands_in_for_the_executors_own():
    other = Registry([tool(name="double")(lambda x: 200)])
    call = ToolCall("c", "double", {"x": 1})
    assert (await executor.run_call(call, registry=other)).value == 200
    assert [r.value for r in await executor.run_many([call], registry=other)] == [200]


async def test_there_is_no_idempotency_key_outside_a_durable_call():
    """Item 112."""

    @tool
    def key() -> str | None:
        return idempotency_key()

    assert await executor.run(key) is None
    with visit_scope(None, make_journal()):
        assert await executor.run(key) is None


async def test_policies_about_calls_in_doubt_are_accepted():
    policies = {
        "idempotent": True,
        "read_only": True,
        "reconcile": lambda arguments, key: None,
        "did_not_happen": (ValueError,),
    }
    assert await executor.run(tool(name="t", **policies)(lambda: 5)) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0},
        {"timeout": float("inf")},
        {"timeout": True},
        {"concurrency": 0},
        {"concurrency": True},
        {"retry": 0},
        {"retry": True},
    ],
)
def test_a_setting_with_an_impossible_value_is_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Executor(**wrong)


async def test_misuse_of_a_call_is_refused():
    with pytest.raises(ToolUsageError, match="timeout"):
        await executor.run("double", {"x": 1}, timeout=-1)
    with pytest.raises(ToolUsageError, match="is no ToolCall"):
        await executor.run_call({"name": "double"})

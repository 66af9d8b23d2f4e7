"""Hooks and sinks: told what happens, in order, and unable to change it (item 152)."""

import asyncio

import pytest

from agent_adapter import ConfigError, Executor, Registry, ToolCall, tool
from agent_adapter.exec import Backoff, register_control_flow
from agent_adapter.exec.integration import make_journal, visit_scope
from agent_adapter.policies import Deny, Hook, ToolEnded, ToolRetried, ToolStarted


class Pause(Exception):
    pass


register_control_flow(Pause)


class Noting(Hook):
    def __init__(self) -> None:
        self.log = []

    def before(self, call, ctx):
        self.log.append(("before", call.name, dict(call.arguments)))

    async def after(self, call, result, ctx):
        self.log.append(("after", call.name, result.status))


@tool
def double(x: int) -> int:
    return 2 * x


@tool
def fail() -> None:
    raise ValueError("no")


@tool(guards=(lambda call, ctx: Deny("no"),))
def refused() -> None:
    raise AssertionError("must not run")


REGISTRY = Registry([double, fail, refused])


async def test_a_hook_hears_of_the_beginning_of_a_body_and_of_every_end():
    hook = Noting()
    executor = Executor(REGISTRY, hooks=(hook,))
    for call in (
        ToolCall("a", "double", {"x": "2"}),
        ToolCall("b", "fail"),
        ToolCall("c", "refused"),
    ):
        await executor.run_call(call)
    assert hook.log == [
        ("before", "double", {"x": 2}),
        ("after", "double", "ok"),
        ("before", "fail", {}),
        ("after", "fail", "error"),
        ("after", "refused", "denied"),
    ]


@pytest.mark.parametrize("half", ["before", "after"])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_hook_that_fails_is_logged_and_changes_nothing(half, kind, caplog):
    """Item 152: hooks' exceptions do not change the result."""

    def crash(*said):
        raise ValueError("hook")

    async def crash_later(*said):
        raise ValueError("hook")

    class Broken:
        pass

    broken, noting = Broken(), Noting()
    setattr(broken, half, crash if kind == "sync" else crash_later)
    executor = Executor(REGISTRY, hooks=[broken, noting])
    result = await executor.run_call(ToolCall("c", "double", {"x": 2}))
    assert (result.value, result.status, len(noting.log)) == (4, "ok", 2)
    assert "the call goes on without it" in caplog.text


async def test_control_flow_of_a_hook_escapes():
    class Pausing(Hook):
        def before(self, call, ctx):
            raise Pause

    with pytest.raises(Pause):
        await Executor(REGISTRY, hooks=(Pausing(),)).run("double", {"x": 1})


async def test_a_replay_gives_no_hook_and_one_event():
    hook, events = Noting(), []
    executor = Executor(REGISTRY, hooks=(hook,), sinks=(events.append,))
    journal = make_journal()
    with visit_scope(None, journal):
        await executor.run("double", {"x": 2})
    hook.log.clear()
    events.clear()
    with visit_scope(None, make_journal(journal.data())):
        assert await executor.run("double", {"x": 2}, call_id="again") == 4
    assert hook.log == []
    (event,) = events
    assert isinstance(event, ToolEnded)
    assert (event.call.id, event.result.replayed, event.result.value) == ("again", True, 4)


async def test_sinks_get_the_events_of_a_call_in_order():
    events, later = [], []

    async def note(event):
        later.append(event)

    @tool(idempotent=True)
    def flaky() -> str:
        if len(events) < 2:
            raise ValueError("no")
        return "done"

    executor = Executor(
        Registry([flaky]), sinks=(events.append, note), retry=2, backoff=Backoff(initial=0)
    )
    await executor.run_call(ToolCall("c", "flaky"))
    assert [type(event) for event in events] == [ToolStarted, ToolRetried, ToolEnded]
    assert {event.tool for event in events} == {"flaky"}
    assert {event.call.id for event in events} == {"c"}
    assert (events[1].result.error.message, events[1].delay_s) == ("no", 0)
    assert (events[2].result.value, events[2].result.attempts) == ("done", 2)
    assert events[0].at <= events[1].at <= events[2].at
    assert later == events


async def test_a_sink_that_fails_is_logged_and_changes_nothing(caplog):
    def broken(event):
        raise ValueError("sink")

    events = []
    executor = Executor(REGISTRY, sinks=(broken, events.append))
    assert await executor.run("double", {"x": 2}) == 4
    assert len(events) == 2
    assert "the call goes on without it" in caplog.text


async def test_a_value_is_not_lost_when_the_caller_is_cancelled_while_a_hook_is_told():
    """The body has run: its result is recorded first, then the cancellation goes on."""
    telling, go = asyncio.Event(), asyncio.Event()

    class Slow(Hook):
        async def after(self, call, result, ctx):
            telling.set()
            await go.wait()

    journal = make_journal()
    with visit_scope(None, journal):
        task = asyncio.create_task(Executor(REGISTRY, hooks=(Slow(),)).run("double", {"x": 2}))
    await telling.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    await asyncio.wait([task])
    assert task.cancelled()
    assert list(journal.data()["calls"].values()) == [{"value": 4}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"hooks": (Noting,)},
        {"hooks": (object(),)},
        {"sinks": (object(),)},
        {"sinks": print},
        {"cache": object()},
        {"approvals": object()},
        {"retry": 0},
        {"backoff": 1.0},
        {"limits": {"max_tool_calls": 1}},
    ],
    ids=str,
)
def test_a_setting_that_cannot_work_is_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Executor(**wrong)

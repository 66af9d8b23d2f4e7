"""Guards before and after a body: what they refuse, replace and withhold, and that a broken one refuses (item 152)."""

import pytest

from agent_adapter import ConfigError, Executor, Registry, ToolCall, ToolDenied, ToolError, tool
from agent_adapter.exec import register_control_flow
from agent_adapter.exec.integration import make_journal, visit_scope
from agent_adapter.policies import Deny, Guard, Replace, ToolPolicy


class Pause(Exception):
    pass


register_control_flow(Pause)


class Bench:
    """A tool `send` that says what it was given, and executors around it."""

    def __init__(self) -> None:
        self.ran: list[int] = []

    def executor(self, *guards, own=()) -> Executor:
        @tool(guards=own)
        def send(x: int) -> str:
            self.ran.append(x)
            return f"sent {x}"

        return Executor(Registry([send]), guards=guards)

    async def call(self, *guards, own=(), x=1):
        return await self.executor(*guards, own=own).run_call(ToolCall("c", "send", {"x": x}))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def deny(call, ctx):
    return Deny("not on Sundays")


async def deny_later(call, ctx):
    return Deny("not on Sundays")


class Wrapped(Guard):
    def before(self, call, ctx):
        return Deny("not on Sundays")


@pytest.mark.parametrize("guard", [deny, deny_later, Wrapped()])
@pytest.mark.parametrize("place", ["executor", "tool"])
async def test_a_denied_call_does_not_run_and_its_result_says_why(bench, guard, place):
    """Item 152: guards deny -> body not run, ToolResult denied."""
    result = await (bench.call(guard) if place == "executor" else bench.call(own=(guard,)))
    assert (result.status, result.ok, result.value) == ("denied", False, None)
    assert result.error == ToolError("denied", "ToolDenied", "not on Sundays")
    assert bench.ran == []
    with pytest.raises(ToolDenied, match="not on Sundays"):
        await bench.executor(guard).run("send", {"x": 1})


async def test_guards_are_asked_in_order_the_executors_first_and_last(bench):
    log = []

    class Noting:
        def __init__(self, name):
            self.name = name

        def before(self, call, ctx):
            log.append(f"before {self.name} {call.name} {call.arguments} {ctx.user}")

        async def after(self, call, value, ctx):
            log.append(f"after {self.name} {value}")

    await bench.call(Noting("e1"), Noting("e2"), own=(Noting("t"),))
    assert log == [
        "before e1 send {'x': 1} None",
        "before e2 send {'x': 1} None",
        "before t send {'x': 1} None",
        "after t sent 1",
        "after e1 sent 1",
        "after e2 sent 1",
    ]


async def test_after_a_denial_no_other_guard_is_asked(bench):
    asked = []
    await bench.call(deny, lambda call, ctx: asked.append(call))
    assert asked == []


async def test_replaced_arguments_are_validated_and_seen_by_the_next_guard(bench):
    seen = []

    def next_one(call, ctx):
        seen.append(dict(call.arguments))

    result = await bench.call(lambda call, ctx: Replace({"x": "7"}), next_one)
    assert (result.value, bench.ran, seen) == ("sent 7", [7], [{"x": 7}])


@pytest.mark.parametrize("given", [{"x": "seven"}, {"y": 1}, [1], None])
async def test_replaced_arguments_that_do_not_fit_run_nothing(bench, given):
    result = await bench.call(lambda call, ctx: Replace(given))
    assert (result.status, result.error.kind, bench.ran) == ("error", "invalid", [])


async def test_a_guard_cannot_change_the_arguments_behind_the_validation(bench):
    def sneak(call, ctx):
        call.arguments["x"] = "unchecked"

    assert (await bench.call(sneak)).value == "sent 1"


def crash(call, ctx):
    raise ValueError("secret")


@pytest.mark.parametrize("answer", [True, False, "no", {"x": 1}, Deny])
async def test_a_guard_that_answers_something_else_refuses_and_is_named(bench, answer):
    def odd(call, ctx):
        return answer

    result = await bench.call(odd)
    assert (result.status, bench.ran) == ("denied", [])
    assert "guard 'odd' answered" in result.error.message


async def test_a_guard_that_fails_refuses_and_is_named(bench):
    result = await bench.call(crash)
    assert (result.status, bench.ran) == ("denied", [])
    assert result.error.message == "guard 'crash' failed: ValueError"
    assert isinstance(result.cause, ValueError)


async def test_control_flow_of_a_guard_escapes(bench):
    def pause(call, ctx):
        raise Pause

    with pytest.raises(Pause):
        await bench.call(pause)
    assert bench.ran == []


class After(Guard):
    def __init__(self, say) -> None:
        self.say = say

    def after(self, call, value, ctx):
        return self.say(value)


async def test_a_value_may_be_replaced_and_the_next_guard_sees_the_new_one(bench):
    result = await bench.call(
        After(lambda v: Replace(v + "!")), own=(After(lambda v: Replace(v.upper())),)
    )
    assert (result.value, result.attempts) == ("SENT 1!", 1)


@pytest.mark.parametrize(
    "say",
    [lambda v: Deny("private"), lambda v: 1 / 0, lambda v: "fine"],
    ids=["denies", "fails", "odd"],
)
async def test_a_withheld_value_is_in_no_result_and_no_record(bench, say):
    journal = make_journal()
    with visit_scope(None, journal):
        result = await bench.call(After(say))
    assert (result.status, result.value, bench.ran) == ("denied", None, [1])
    assert "sent" not in str(journal.data())
    assert "sent" not in str(result)


async def test_a_replaced_value_is_what_is_recorded_and_replayed_without_guards(bench):
    journal = make_journal()
    with visit_scope(None, journal):
        await bench.call(After(lambda v: Replace("clean")))
    assert list(journal.data()["calls"].values()) == [{"value": "clean"}]
    with visit_scope(None, make_journal(journal.data())):
        replayed = await bench.call(deny, After(lambda v: Deny("never asked")))
    assert (replayed.value, replayed.replayed, bench.ran) == ("clean", True, [1])


async def test_a_failed_call_has_no_value_for_guards_to_look_at(bench):
    asked = []

    @tool(guards=(After(asked.append),))
    def fail() -> None:
        raise ValueError("no")

    result = await Executor(Registry([fail])).run_call(ToolCall("c", "fail"))
    assert (result.error.message, asked) == ("no", [])


async def test_the_record_keeps_the_identity_of_the_call_and_what_its_body_was_given(bench):
    """The key is the digest of the arguments that were asked for; the slot keeps the others."""
    slots = []

    class Noting:
        async def started(self, slot):
            slots.append(slot)

        async def settle(self, slot, result):
            pass

    with visit_scope(None, make_journal(observer=Noting())):
        await bench.call(lambda call, ctx: Replace({"x": 2}))
        await bench.call(lambda call, ctx: Replace({"x": 1}))
    assert [(slot.arguments, slot.given) for slot in slots] == [
        ({"x": 1}, {"x": 2}),
        ({"x": 1}, None),
    ]


@pytest.mark.parametrize("wrong", [Wrapped, 5, object()])
def test_what_cannot_guard_is_refused(wrong):
    with pytest.raises(ConfigError, match="guards"):
        Executor(guards=(wrong,))
    with pytest.raises(ConfigError, match="guards"):
        ToolPolicy(guards=(wrong,))

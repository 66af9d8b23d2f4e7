"""A loop from its first message to its last: turns, results, limits, and what is refused before anything runs."""

import asyncio
from collections import Counter

import pytest
from tests.exec.loop_kit import RUN, Lab, ask, said

from agent_adapter import (
    CheckpointConflict,
    ConfigError,
    Executor,
    ModelError,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    ToolUsageError,
    run_tool_loop,
)
from agent_adapter.exec.checkpoints import MemoryCheckpointStore
from agent_adapter.models import Message, ModelReply, Usage
from agent_adapter.testing.models import ScriptedModel


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


@pytest.mark.parametrize("durable", [True, False])
async def test_the_result_has_the_history_the_last_reply_and_every_result_in_call_order(
    lab, durable
):
    """Item 36"""
    lab.play(
        ModelReply("one", (ask("charge", cents=1), ask("note", text="a")), Usage(3, 2, 0.5)),
        ModelReply("two", (ask("charge", cents=2),), Usage(5, 1, 0.25)),
        ModelReply("done", usage=Usage(1, 1)),
    )
    given = {} if durable else {"checkpoints": None, "run_id": None}
    result = await lab.run(**given)
    assert said(result) == [
        ("user", "go"),
        ("assistant", "one"),
        ("tool", "charged 1"),
        ("tool", "noted a"),
        ("assistant", "two"),
        ("tool", "charged 2"),
        ("assistant", "done"),
    ]
    assert result.reply == ModelReply("done", usage=Usage(1, 1))
    assert [found.value for found in result.tool_results] == ["charged 1", "noted a", "charged 2"]
    assert (result.usage, result.steps, result.status) == (Usage(9, 4, 0.75), 3, "done")
    assert (result.pending, result.run_id) == ((), RUN if durable else None)


async def test_the_calls_of_a_turn_run_side_by_side_and_are_told_in_call_order(lab):
    """Item 38: each of four calls waits until all of them have begun."""
    begun = asyncio.Barrier(4)

    async def wait(cents):
        await begun.wait()
        await asyncio.sleep(0.001 * (4 - cents))

    lab.inside["charge"] = wait
    lab.play([ask("charge", cents=cents) for cents in range(4)], "done")
    result = await lab.run()
    assert [text for role, text in said(result) if role == "tool"] == [
        f"charged {cents}" for cents in range(4)
    ]


async def test_no_more_calls_run_at_once_than_concurrency_says(lab):
    """Each call waits for another one, so two have to run at once; a third never does."""
    pair, running, most = asyncio.Barrier(2), Counter(), Counter()

    async def work(cents):
        running["now"] += 1
        await pair.wait()
        most["at once"] = max(most["at once"], running["now"])
        running["now"] -= 1

    lab.inside["charge"] = work
    lab.play([ask("charge", cents=cents) for cents in range(6)], "done")
    await lab.run(concurrency=2)
    assert (most["at once"], len(lab.ran)) == (2, 6)


async def test_equal_calls_of_a_turn_are_two_wishes(lab):
    lab.play([ask("charge", "a", cents=5), ask("charge", "b", cents=5)], "done")
    result = await lab.run()
    assert lab.ran == [("charge", 5)] * 2
    assert [message.call_id for message in result.messages if message.role == "tool"] == ["a", "b"]
    assert len(set(lab.keys)) == 2


async def test_equal_calls_of_two_turns_both_run(lab):
    lab.play([ask("charge", cents=5)], [ask("charge", cents=5)], "done")
    await lab.run()
    assert lab.ran == [("charge", 5)] * 2


async def test_the_model_is_told_of_unknown_tools_wrong_arguments_and_failures(lab):
    def fail(cents):
        raise ValueError("no such card")

    lab.inside["charge"] = fail
    lab.play([ask("fly", to="moon"), ask("charge", dollars=1), ask("charge", cents=1)], "sorry")
    result = await lab.run()
    told = [message for message in result.messages if message.role == "tool"]
    assert [found.error.kind for found in result.tool_results] == [
        "not_found",
        "invalid",
        "failed",
    ]
    assert [message.status for message in told] == ["error"] * 3
    assert "fly" in told[0].text
    assert "dollars" in told[1].text
    assert told[2].text == "ValueError: no such card"
    assert lab.ran == [("charge", 1)]


async def test_a_run_id_is_made_when_none_is_given(lab):
    lab.play("done")
    made = [(await lab.run(run_id=None)).run_id for _ in range(2)]
    assert len({*made}) == 2
    assert {(await lab.store.latest(name)).checkpoint.status for name in made} == {"done"}


async def test_a_path_is_a_store(lab, tmp_path):
    path = str(tmp_path / "loops.db")
    lab.play([ask("charge", cents=1)], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run(checkpoints=path)
    lab.play(lab.script[0], "done")
    assert (await lab.recover(checkpoints=path)).status == "done"
    assert lab.ran == [("charge", 1)]


async def test_the_tools_are_told_the_durable_run(lab):
    seen = []
    lab.change("charge", guards=(lambda call, ctx: seen.append(ctx),))
    lab.play([ask("charge", cents=1)], "done")
    await lab.run(ctx=RunContext(user="ann"))
    assert [(ctx.run_id, ctx.user) for ctx in seen] == [(RUN, "ann")]


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("auto", ["auto", "auto"]),
        ("required", ["required", "auto"]),
        ("note", ["note", "auto"]),
        ("none", ["none", "none"]),
    ],
)
async def test_a_forced_tool_choice_is_for_the_first_model_call_alone(lab, choice, told):
    lab.play([ask("note", text="a")], "done")
    await lab.run(tool_choice=choice)
    assert [request.tool_choice for request in lab.models[0].requests] == told


async def test_the_model_is_shown_the_tools_the_options_and_the_stage(lab):
    lab.play("done")
    await lab.run(stage="planner", request_options={"temperature": 0})
    request = lab.models[0].requests[0]
    assert [spec.name for spec in request.tools] == lab.tools.names()
    assert (request.options, request.stage) == ({"temperature": 0}, "planner")


async def test_max_steps_is_the_number_of_model_calls(lab):
    lab.play([ask("note", text="a")], [ask("note", text="b")], "done")
    with pytest.raises(RunLimitExceeded, match="max_steps of 2"):
        await lab.run(max_steps=2)
    assert (lab.asked, [text for _, text in lab.ran]) == (2, ["a", "b"])
    assert await lab.status() == "running"


async def test_a_turn_that_would_exceed_the_limit_of_tool_calls_does_not_begin(lab):
    """Item 155: and what the turn stands on is stored when the error is raised."""
    lab.play([ask("charge", cents=1), ask("charge", cents=2)], "done")
    with pytest.raises(RunLimitExceeded, match="max_tool_calls"):
        await lab.run(ctx=RunContext(limits=RunLimits(max_tool_calls=1)))
    assert (lab.ran, lab.tape.writes) == ([], ["save running"] * 2)
    await lab.recover()
    assert (lab.ran, lab.asked) == ([("charge", 1), ("charge", 2)], 2)


async def test_a_run_that_exists_is_not_started_again(lab):
    lab.play("done")
    await lab.run()
    with pytest.raises(CheckpointConflict):
        await lab.run()
    assert lab.asked == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"checkpoints": None},
        {"run_id": ""},
        {"run_id": "a\nb"},
        {"max_steps": 0},
        {"max_steps": True},
        {"stage": ""},
        {"concurrency": 0},
        {"tool_choice": "fly"},
    ],
    ids=str,
)
async def test_a_wrong_argument_is_refused_before_anything_is_stored(lab, wrong):
    lab.play("done")
    with pytest.raises(ToolUsageError):
        await lab.run(**wrong)
    assert (lab.asked, await lab.store.list_unfinished()) == (0, [])


@pytest.mark.parametrize("wrong", [{"output_schema": 5}, {"executor": Executor()}], ids=str)
async def test_a_wrong_setting_is_refused_before_anything_is_stored(lab, wrong):
    """A loop with a tool that needs approval has to have somebody to ask."""
    lab.play("done")
    with pytest.raises(ConfigError):
        await lab.run(**wrong)
    assert (lab.asked, lab.tape.writes) == (0, [])


async def test_a_store_without_claims_is_refused_before_step_0():
    """Item 59"""

    class Plain(MemoryCheckpointStore):
        claim_call = None

    kept = Plain()
    model = ScriptedModel(["done"])
    with pytest.raises(ConfigError, match="claim"):
        await run_tool_loop(model, [], "go", checkpoints=kept, run_id=RUN)
    assert (await kept.latest(RUN), model.requests) == (None, [])


@pytest.mark.parametrize(
    "messages", [[], [5], {"role": "user"}, {"role": "boss", "content": ""}], ids=str
)
async def test_what_is_no_conversation_is_refused(messages):
    model = ScriptedModel(["done"])
    with pytest.raises(ToolUsageError):
        await run_tool_loop(model, [], messages)
    assert model.requests == []


@pytest.mark.parametrize("messages", [5, None], ids=str)
async def test_what_cannot_be_iterated_is_no_conversation_either(messages):
    with pytest.raises(ToolUsageError):
        await run_tool_loop(ScriptedModel(["done"]), [], messages)


async def test_a_conversation_may_be_messages_mappings_and_texts():
    model = ScriptedModel(["done"])
    given = [Message("system", "be short"), {"role": "user", "content": "go"}, "please"]
    result = await run_tool_loop(model, [], given)
    assert said(result) == [
        ("system", "be short"),
        ("user", "go"),
        ("user", "please"),
        ("assistant", "done"),
    ]


async def test_a_failing_model_is_a_model_error_and_leaves_the_run_recoverable(lab):
    """Items 60 and 104"""
    lab.play([ask("charge", cents=1)], OSError("no route"))
    with pytest.raises(ModelError, match="no route") as raised:
        await lab.run()
    assert isinstance(raised.value.__cause__, OSError)
    assert (await lab.status(), await lab.store.list_unfinished()) == ("running", [RUN])
    lab.play(lab.script[0], "done")
    assert said(await lab.recover())[-1] == ("assistant", "done")
    assert lab.ran == [("charge", 1)]

"""What a loop takes for a reply, what it reads a final one as, and how text and events reach those who listen."""

from typing import Any

import pytest
from pydantic import BaseModel
from tests.exec.loop_kit import RUN, Lab, Outage, ask

from agent_adapter import ModelError, ToolCall, run_tool_loop, tool
from agent_adapter.models import ModelChunk, ModelReply, Usage
from agent_adapter.policies import ToolEnded, ToolStarted
from agent_adapter.testing.models import ScriptedModel


class Money(BaseModel):
    cents: int


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


class Says:
    """A model that gives this reply, whatever it is."""

    def __init__(self, reply):
        self.reply = reply

    async def generate(self, request):
        return self.reply


# Output schemas


async def test_the_final_reply_is_read_as_the_output_schema(lab):
    """Item 40"""
    lab.play([ask("note", text="a")], '{"cents": 5}')
    result = await lab.run(output_schema=Money)
    assert (result.parsed, result.reply.text) == (Money(cents=5), '{"cents": 5}')
    shown = [request.output_schema for request in lab.models[0].requests]
    assert shown == [Money.model_json_schema()] * 2


async def test_a_json_schema_gives_plain_json(lab):
    """Item 40"""
    lab.play('{"cents": [1, null]}')
    result = await lab.run(output_schema={"type": "object"})
    assert result.parsed == {"cents": [1, None]}


@pytest.mark.parametrize("text", ["five", '{"cents": "many"}', ""], ids=["text", "value", "empty"])
async def test_a_reply_that_does_not_fit_is_a_model_error_and_asked_for_again(lab, text):
    """Item 40: the run stays recoverable, and no tool runs again."""
    lab.play([ask("charge", cents=1)], text)
    with pytest.raises(ModelError, match="output_schema"):
        await lab.run(output_schema=Money)
    assert await lab.status() == "running"
    lab.play(lab.script[0], '{"cents": 7}')
    result = await lab.recover(output_schema=Money)
    assert (result.parsed, lab.ran) == (Money(cents=7), [("charge", 1)])
    assert len(lab.models[1].requests) == 1


# Malformed replies


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "text",
        {"content": "text"},
        ModelReply(calls=({"id": "a", "name": "note"},)),
        ModelReply(calls=(ToolCall("a", "note", ["text"]),)),
        ModelReply(calls=(ToolCall("a", "note", {1: "a"}),)),
        ModelReply(calls=(ToolCall("a", "note", {"text": float("nan")}),)),
        ModelReply("x", extra={"raw": object()}),
    ],
    ids=str,
)
async def test_what_is_no_reply_is_a_model_error_and_nothing_of_it_is_stored(lab, reply):
    kept = {"checkpoints": lab.tape, "run_id": RUN, "executor": lab.executor}
    with pytest.raises(ModelError):
        await run_tool_loop(Says(reply), lab.tools, "go", **kept)
    assert (lab.ran, lab.tape.writes, await lab.status()) == ([], ["save running"], "running")


@pytest.mark.parametrize(
    "reply",
    [
        ModelReply(content=None),
        ModelReply(content=5),
        ModelReply(content=["text"]),
        ModelReply(calls=None),
        ModelReply(extra=None),
        ModelReply(usage=None),
        ModelReply(calls=(ToolCall("a", None),)),
        ModelReply(calls=(ToolCall(5, "note", {"text": "a"}),)),
    ],
    ids=str,
)
async def test_a_reply_with_a_part_of_the_wrong_type_is_a_model_error(lab, reply):
    kept = {"checkpoints": lab.tape, "run_id": RUN, "executor": lab.executor}
    with pytest.raises(ModelError):
        await run_tool_loop(Says(reply), lab.tools, "go", max_steps=1, **kept)


async def test_calls_without_an_id_or_with_a_used_one_get_ids_that_are_the_same_after_a_crash(lab):
    calls = [ask("charge", name, cents=n) for n, name in enumerate(["", "x", "x", ""])]
    lab.play(calls, ModelError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    lab.play(calls, "done")
    result = await lab.recover()
    ids = [message.call_id for message in result.messages if message.role == "tool"]
    assert ids == [call.id for call in result.messages[1].calls]
    assert (len(set(ids)), ids[1]) == (4, "x")
    assert len(lab.ran) == 4


async def test_a_made_id_is_never_one_that_the_model_gave(lab):
    names = ["call-0-1", "", "call-0-3", "call-0-3"]
    lab.play([ask("note", name, text=str(n)) for n, name in enumerate(names)], "done")
    result = await lab.run()
    assert len({call.id for call in result.messages[1].calls}) == 4


async def test_what_only_the_models_adapter_understands_is_given_back_to_it(lab):
    thought = ModelReply(
        [{"type": "text", "text": "hm"}],
        (ask("note", text="a"),),
        extra={"signature": "s\u0000\ud800"},
    )
    lab.play(thought, OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    lab.play(thought, "done")
    result = await lab.recover()
    assert lab.models[1].requests[0].messages[1] == thought.message
    assert result.messages[1] == thought.message


async def test_what_a_body_does_to_its_arguments_does_not_change_what_the_model_said(lab):
    @tool
    async def take(items: Any) -> str:
        items.clear()
        return "took"

    lab.tools.add(take)
    lab.play([ToolCall("a", "take", {"items": [{"n": 1}, 2]})], "done")
    result = await lab.run()
    assert result.messages[1].calls[0].arguments == {"items": [{"n": 1}, 2]}
    assert lab.models[0].requests[1].messages[1] == result.messages[1]


async def test_every_character_comes_back_from_the_store(lab):
    """Item 55"""
    odd = "Straße \x00 \ud800 🚀 \u2028 \r\n $ref"
    first = ModelReply(odd, (ask("note", text=odd),), extra={odd: [odd]})
    lab.play(first, OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    lab.play(first, "done")
    result = await lab.recover()
    assert (result.messages[1], result.messages[2].text) == (first.message, f"noted {odd}")


# Text


async def test_text_is_streamed_once(lab):
    """Item 40: what was said before the crash is not said again."""
    heard = []
    lab.play(ModelReply("let me see", (ask("note", text="a"),)), "all is done")
    lab.break_at(4)
    with pytest.raises(Outage):
        await lab.run(on_text=heard.append)
    assert "".join(heard) == "let me seeall is done"
    heard.clear()
    result = await lab.recover(on_text=heard.append)
    assert heard == ["all ", "is ", "done"]
    assert result.reply.text == "all is done"


async def test_an_async_listener_of_text_is_awaited(lab):
    heard = []

    async def hear(text):
        heard.append(text)

    lab.play("all done")
    await lab.run(on_text=hear)
    assert heard == ["all ", "done"]


async def test_what_a_listener_of_text_raises_ends_the_loop_as_it_is(lab):
    def refuse(text):
        raise ZeroDivisionError

    lab.play("done")
    with pytest.raises(ZeroDivisionError):
        await lab.run(on_text=refuse)
    assert await lab.status() == "running"
    assert (await lab.recover()).reply.text == "done"


@pytest.mark.parametrize("broken", ["early", "silent"])
async def test_a_stream_that_breaks_is_a_model_error(lab, broken):
    class Broken(ScriptedModel):
        async def stream(self, request):
            yield ModelChunk("half")
            if broken == "early":
                raise OSError("reset")

    with pytest.raises(ModelError):
        await run_tool_loop(Broken([]), [], "go", on_text=lambda text: None)


# Events


async def test_every_call_is_told_to_begin_and_to_end_in_a_valid_order(lab):
    """Item 40"""
    events = []
    lab.play([ask("charge", cents=1), ask("note", text="a")], [ask("charge", cents=2)], "done")
    await lab.run(on_event=events.append)
    order = [(type(event), event.call.id) for event in events]
    for name in ("charge-1", "note-a", "charge-2"):
        assert order.index((ToolStarted, name)) < order.index((ToolEnded, name))
    assert len(order) == 6
    assert order.index((ToolStarted, "charge-2")) == 4
    ended = {event.call.id: event.result.value for event in events if type(event) is ToolEnded}
    assert ended == {"charge-1": "charged 1", "note-a": "noted a", "charge-2": "charged 2"}


async def test_a_replayed_call_is_told_to_end_and_not_to_begin(lab):
    """Item 40"""
    lab.play([ask("charge", cents=1)], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    events = []
    lab.play(lab.script[0], "done")
    await lab.recover(on_event=events.append)
    assert [(type(event), event.result.replayed) for event in events] == [(ToolEnded, True)]


@pytest.mark.parametrize("at", [ToolStarted, ToolEnded])
async def test_what_a_listener_of_events_raises_ends_the_run_and_never_a_call_half_way(lab, at):
    def refuse(event):
        if type(event) is at:
            raise ZeroDivisionError

    lab.play([ask("charge", cents=1), ask("charge", cents=2)], "done")
    with pytest.raises(ZeroDivisionError):
        await lab.run(on_event=refuse)
    assert [record.state for record in await lab.records()] == ["done", "done"]
    await lab.recover()
    assert lab.ran == [("charge", 1), ("charge", 2)]


async def test_usage_is_of_this_call_alone(lab):
    """Item 93"""
    first = ModelReply(calls=(ask("charge", cents=1),), usage=Usage(10, 5, 1.0))
    lab.play(first, OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    lab.play(first, ModelReply("done", usage=Usage(2, 1, 0.5)))
    result = await lab.recover()
    assert (result.usage, result.tool_results) == (Usage(2, 1, 0.5), ())
    assert len(result.messages) == 4

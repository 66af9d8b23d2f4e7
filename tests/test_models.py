"""What passes between a loop and a model: texts, sums, and the scripted model that tests of loops use."""

from collections.abc import Callable
from typing import Any

import pytest

from agent_adapter import ModelError, ToolCall, ToolUsageError
from agent_adapter.models import Message, ModelChunk, ModelReply, ModelRequest, Usage
from agent_adapter.testing.models import ScriptedModel

USER = Message("user", "go")
CALL = ToolCall("call-1", "look", {"x": 1})
REQUEST = ModelRequest(messages=(USER,))


def request_after(*replies: ModelReply) -> ModelRequest:
    return ModelRequest(messages=(USER, *(reply.message for reply in replies)))


def test_the_text_of_blocks_is_that_of_their_texts() -> None:
    blocks = [{"type": "text", "text": "a "}, {"type": "image", "url": "x"}, {"text": "b"}]
    assert Message("assistant", blocks).text == "a b"
    assert ModelReply(blocks).text == "a b"
    assert Message("user", "plain").text == "plain"


def test_usages_add_up() -> None:
    total = Usage(1, 2, 0.5) + Usage(10, 20, 0.25)
    assert (total, total.tokens) == (Usage(11, 22, 0.75), 33)


def test_a_reply_is_a_message_with_all_that_it_says() -> None:
    reply = ModelReply("hi", (CALL,), Usage(1, 1), {"made by": "x"})
    assert reply.message == Message("assistant", "hi", (CALL,), extra={"made by": "x"})


def returning(value: Any) -> Callable[[ModelRequest], Any]:
    return lambda _: value


async def later(request: ModelRequest) -> str:
    return f"{len(request.messages)} messages"


@pytest.mark.parametrize(
    ("scripted", "reply"),
    [
        (ModelReply("a", usage=Usage(3, 4)), ModelReply("a", usage=Usage(3, 4))),
        ("text", ModelReply("text")),
        ([CALL], ModelReply(calls=(CALL,))),
        ((CALL, CALL), ModelReply(calls=(CALL, CALL))),
        (returning([CALL]), ModelReply(calls=(CALL,))),
        (later, ModelReply("1 messages")),
    ],
    ids=["reply", "text", "list of calls", "tuple of calls", "function", "async function"],
)
async def test_a_script_may_hold(scripted: Any, reply: ModelReply) -> None:
    model = ScriptedModel([scripted])
    assert await model.generate(REQUEST) == reply
    assert model.requests == [REQUEST]


@pytest.mark.parametrize("scripted", [OSError("down"), returning(OSError("down"))])
async def test_a_scripted_exception_is_raised(scripted: Any) -> None:
    with pytest.raises(OSError, match="down"):
        await ScriptedModel([scripted]).generate(REQUEST)


@pytest.mark.parametrize("scripted", [5, ["text"], {"text": "x"}, returning(None)])
async def test_anything_else_in_a_script_is_refused(scripted: Any) -> None:
    with pytest.raises(ToolUsageError, match="scripted reply"):
        await ScriptedModel([scripted]).generate(REQUEST)


async def test_replies_come_in_order_whatever_the_conversation_holds() -> None:
    model = ScriptedModel(["first", "second"])
    replies = [await model.generate(REQUEST), await model.generate(REQUEST)]
    assert [reply.text for reply in replies] == ["first", "second"]


async def test_by_history_a_new_model_goes_on_where_the_conversation_is() -> None:
    script = ["first", "second", "third"]
    model = ScriptedModel(script, by_history=True)
    first = await model.generate(REQUEST)
    assert (await model.generate(REQUEST)).text == "first"

    again = ScriptedModel(script, by_history=True)

    assert (await again.generate(request_after(first))).text == "second"


@pytest.mark.parametrize("by_history", [False, True])
async def test_too_few_replies_say_how_many_were_given(by_history: bool) -> None:
    model = ScriptedModel(["only"], by_history=by_history, name="short")
    only = await model.generate(REQUEST)
    with pytest.raises(ModelError, match="'short': 1 replies were given, and reply 2"):
        await model.generate(request_after(only))


async def test_a_stream_is_the_text_in_words_and_then_the_whole_reply() -> None:
    model = ScriptedModel([" two  words\n", [CALL]])
    text = [chunk async for chunk in model.stream(REQUEST)]
    calls = [chunk async for chunk in model.stream(REQUEST)]
    assert text == [
        ModelChunk(" "),
        ModelChunk("two  "),
        ModelChunk("words\n"),
        ModelChunk(reply=ModelReply(" two  words\n")),
    ]
    assert calls == [ModelChunk(reply=ModelReply(calls=(CALL,)))]
    assert model.requests == [REQUEST, REQUEST]


def test_its_name_tells_it_from_other_scripted_models() -> None:
    one, other = (ScriptedModel([], name=name).cache_key_fields() for name in ("a", "b"))
    assert (one, other["name"]) == ({"provider": "scripted", "name": "a"}, "b")

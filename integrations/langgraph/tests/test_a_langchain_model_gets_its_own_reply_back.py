"""What only the provider understands is kept with the reply as plain JSON, and given back after a crash as it was."""

import json
from enum import Enum
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall
from lg_provider import Provider, asking, calls

from agent_adapter import ModelError, ToolCall
from agent_adapter.exec.integration import check_plain, decode, encode
from agent_adapter.models import Message, ModelReply
from agent_adapter_langgraph import ChatModel


class Ended(Enum):
    """A class that the process which reads the record need not have."""

    LENGTH = 1


KNOWN = {f"{kind.__module__}:{kind.__qualname__}": kind for kind in (Message, ToolCall)}


def stored_and_read(message: Message) -> Message:
    """The message as another process reads it."""
    read: Message = decode(json.loads(json.dumps(encode(message))), known=KNOWN)
    return read


async def reply_to(given: AIMessage, *before: Message) -> ModelReply:
    return await ChatModel(Provider(given)).generate(asking(*before))


THINKING = [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln", "index": 0},
    {"type": "text", "text": "let me look"},
    {"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}},
]


@pytest.mark.parametrize(
    "given",
    [
        AIMessage(
            THINKING,
            id="msg_1",
            name="helper",
            tool_calls=[{"name": "look", "args": {"x": 1}, "id": "a"}],
            response_metadata={"model_provider": "anthropic", "stop_reason": "tool_use"},
        ),
        calls(
            ("look", {"x": [1.5, None, True]}, "a"),
            additional_kwargs={"signatures": {"a": b"\x00\xff"}, "reasoning": ("x", {"$y": 1})},
        ),
        AIMessage("hi", response_metadata={"logprobs": [0.5, {"top": None}]}, id="run-1"),
        AIMessage("plain"),
    ],
    ids=["content blocks", "signatures of calls", "metadata", "nothing"],
)
async def test_the_provider_is_shown_its_own_reply_again(given: AIMessage) -> None:
    reply = await reply_to(given.model_copy(deep=True))
    check_plain(dict(reply.extra))
    provider = Provider("done")

    await ChatModel(provider).generate(asking(stored_and_read(reply.message)))

    assert provider.seen[0] == [HumanMessage("go"), given]


async def test_a_reply_shares_nothing_with_the_providers_message() -> None:
    given = AIMessage(
        [{"type": "text", "text": "hi"}],
        additional_kwargs={"seen": []},
        tool_calls=[{"name": "look", "args": {"x": []}, "id": "a"}],
    )
    reply = await reply_to(given)
    before = stored_and_read(reply.message)
    given.content[0]["text"] = "changed"
    given.additional_kwargs["seen"].append(1)
    given.tool_calls[0]["args"]["x"].append(1)
    assert reply.message == before


async def test_bare_texts_between_blocks_become_blocks() -> None:
    reply = await reply_to(AIMessage(["a ", {"type": "text", "text": "b"}]))
    assert reply.content == [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]


async def test_metadata_without_a_stored_form_is_left_out() -> None:
    metadata = {"raw": object(), "kind": Ended.LENGTH, "model": "m"}
    reply = await reply_to(AIMessage("hi", response_metadata=metadata))
    assert reply == ModelReply("hi", extra={"langchain": {"response_metadata": {"model": "m"}}})


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (AIMessage("hi", additional_kwargs={"signature": object()}), "additional_kwargs: .*sig"),
        (AIMessage("hi", additional_kwargs={"ended": Ended.LENGTH}), "additional_kwargs: .*Ended"),
        (AIMessage([{"type": "image", "data": b"x"}]), r"content\[0\].data"),
        (calls(("look", {"x": {1, 2}}, "a")), r"arguments\[0\].x"),
    ],
)
async def test_a_part_of_the_reply_without_a_stored_form_is_refused(
    given: AIMessage, where: str
) -> None:
    with pytest.raises(ModelError, match=where):
        await reply_to(given)


async def test_what_another_adapter_keeps_is_left_alone() -> None:
    provider = Provider("hi")
    foreign = Message("assistant", "x", extra={"other": {"additional_kwargs": {"a": 1}}})
    await ChatModel(provider).generate(asking(foreign))
    assert provider.seen[0] == [HumanMessage("go"), AIMessage("x")]


@pytest.mark.parametrize(
    "given",
    [
        AIMessage(
            "",
            tool_calls=[{"name": "pay", "args": {}, "id": "a"}],
            invalid_tool_calls=[InvalidToolCall(name="look", args='{"x"', id="b", error="no")],
            response_metadata={"finish_reason": "length"},
        ),
        calls(("", {}, "a"), response_metadata={"stop_reason": "length"}),
    ],
    ids=["unparsable", "no name"],
)
async def test_a_call_that_cannot_be_read_fails_the_reply(given: AIMessage) -> None:
    """Its siblings do not run either: nobody knows what the model meant."""
    with pytest.raises(ModelError, match=r"cannot be read.*ended with: length") as caught:
        await reply_to(given)
    assert '{"x"' not in str(caught.value)


@pytest.mark.parametrize("ids", [(None, None, None), ("a", "a", "a"), ("", "a", "a")])
async def test_every_call_has_an_id_of_its_own_the_same_in_every_process(ids: Any) -> None:
    """Providers send none, or the same one for every call."""
    given = calls(*(("look", {"x": 1}, name) for name in ids))

    first, again = await reply_to(given), await reply_to(given)

    named = [call.id for call in first.calls]
    assert first == again
    assert len(set(named)) == 3
    assert all(named)
    assert [call.id for call in first.calls if call.id == "a"] == ["a"] * ("a" in ids)


async def test_substitutes_differ_from_turn_to_turn() -> None:
    given = calls(("look", {"x": 1}, None))
    first = await reply_to(given)
    answer = Message("tool", "found", call_id=first.calls[0].id, name="look", status="ok")
    second = await reply_to(given, first.message, answer)
    assert first.calls[0].id != second.calls[0].id

"""A LangChain chat model streams its text as it comes; its calls are read once they are whole."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.errors import GraphInterrupt
from lg_provider import Provider, asking, half_call, streamed

from agent_adapter import ModelError, ToolCall
from agent_adapter.models import ModelChunk, Usage
from agent_adapter_langgraph import ChatModel


def texts(chunks: list[ModelChunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


async def test_text_comes_in_pieces_and_then_the_whole_reply() -> None:
    """Item 40: the text is streamed once."""
    used = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    model = ChatModel(
        Provider(["be", " brief", AIMessageChunk("", usage_metadata=used)]), cost=lambda _: 0.5
    )
    chunks = await streamed(model, asking())
    assert texts(chunks) == ["be", " brief", ""]
    assert [chunk.reply for chunk in chunks[:2]] == [None, None]
    assert chunks[-1].reply is not None
    assert chunks[-1].reply.content == "be brief"
    assert chunks[-1].reply.usage == Usage(7, 3, 0.5)


async def test_a_call_is_read_from_its_parts() -> None:
    parts = [
        "looking",
        half_call("look", "", "a", 0),
        half_call(None, '{"x":', None, 0),
        half_call("look", '{"x": 1}', "b", 1),
        half_call(None, " 1}", None, 0),
        half_call("ping", "", "c", 2),
    ]
    chunks = await streamed(ChatModel(Provider(parts)), asking())
    assert texts(chunks) == ["looking", ""]
    assert chunks[-1].reply is not None
    assert chunks[-1].reply.calls == (
        ToolCall("a", "look", {"x": 1}),
        ToolCall("b", "look", {"x": 1}),
        ToolCall("c", "ping", {}),
    )


@pytest.mark.parametrize("arguments", ['{"to": "a@x', '{"to": "a@x.org"', '{"n": 12', "[1]", "{"])
async def test_a_call_that_is_cut_off_is_no_call(arguments: str) -> None:
    """LangChain closes what is open: half an address would be a call like any other."""
    ended = AIMessageChunk("", response_metadata={"finish_reason": "length"})
    model = ChatModel(Provider([half_call("mail", arguments, "a"), ended]))
    with pytest.raises(ModelError, match=r"'mail' that cannot be read.*length"):
        await streamed(model, asking())


async def test_blocks_are_put_together_and_their_text_alone_is_streamed() -> None:
    def block(**given: Any) -> AIMessageChunk:
        return AIMessageChunk([given])

    pieces = [
        block(type="thinking", thinking="h", index=0),
        block(type="thinking", thinking="m", index=0),
        block(type="thinking", signature="c2ln", index=0),
        block(type="text", text="so", index=1),
        block(type="text", text=" what", index=1),
    ]
    chunks = await streamed(ChatModel(Provider(pieces)), asking())
    assert texts(chunks) == ["so", " what", ""]
    assert chunks[-1].reply is not None
    assert chunks[-1].reply.content == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln", "index": 0},
        {"type": "text", "text": "so what", "index": 1},
    ]


async def test_a_model_that_does_not_stream_gives_its_text_in_one_piece() -> None:
    made = AIMessage("hi you", tool_calls=[{"name": "look", "args": {"x": 1}, "id": "a"}])
    chunks = await streamed(ChatModel(FakeMessagesListChatModel(responses=[made])), asking())
    assert texts(chunks) == ["hi you", ""]
    assert chunks[-1].reply is not None
    assert chunks[-1].reply.calls == (ToolCall("a", "look", {"x": 1}),)


async def test_langchains_own_streams_are_read() -> None:
    chunks = await streamed(ChatModel(FakeListChatModel(responses=["hey"])), asking())
    assert texts(chunks) == ["h", "e", "y", ""]
    assert chunks[-1].reply is not None
    assert chunks[-1].reply.text == "hey"


async def test_a_stream_is_shown_the_same_as_a_request_without_one() -> None:
    provider = Provider(["a"], "b")
    asked = asking(options={"top_p": 0.5}, output_schema={"type": "object"})
    await streamed(ChatModel(provider), asked)
    await ChatModel(provider).generate(asked)
    assert provider.seen[0] == provider.seen[1]
    assert provider.bound == [{"top_p": 0.5}] * 2


async def test_a_failure_in_the_middle_is_a_model_error_with_its_cause() -> None:
    down = OSError("connection reset")
    chunks = ChatModel(Provider(["half a", down])).stream(asking())
    assert await anext(chunks) == ModelChunk("half a")
    with pytest.raises(ModelError, match="connection reset") as caught:
        await anext(chunks)
    assert caught.value.__cause__ is down


async def test_a_signal_in_the_middle_passes_as_it_is() -> None:
    signal = GraphInterrupt(())
    with pytest.raises(GraphInterrupt) as caught:
        await streamed(ChatModel(Provider(["half a", signal])), asking())
    assert caught.value is signal


async def test_a_stream_of_nothing_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="No generation chunks"):
        await streamed(ChatModel(Provider([])), asking())


async def test_the_providers_stream_ends_with_ours() -> None:
    provider = Provider(["a", "b", "c"])
    async with aclosing(ChatModel(provider).stream(asking())) as chunks:
        async for _ in chunks:
            break
    await asyncio.wait_for(provider.closed.wait(), 20)

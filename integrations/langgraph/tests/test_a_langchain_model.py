"""A LangChain chat model as a model of the loop: what it is shown, what it is bound to, and how its failures leave."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from lg_provider import ASKED, USER, Provider, asking, calls
from pydantic import BaseModel

from agent_adapter import (
    CheckpointConflict,
    ConfigError,
    ModelError,
    Registry,
    ToolCall,
    ToolSpec,
    ToolUsageError,
    tool,
)
from agent_adapter.models import Message, ModelReply, ModelRequest, Usage
from agent_adapter_langgraph import ChatModel

LOOK = ToolSpec("look", "Look it up.", {"type": "object", "properties": {"x": {"type": "integer"}}})
LOOK_SHOWN = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look it up.",
        "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}},
    },
}
SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}}
IMAGE = {"type": "image", "url": "https://example.org/x.png"}


class Person(BaseModel):
    """Somebody."""

    name: str


async def test_the_conversation_is_shown_in_langchains_messages() -> None:
    provider = Provider("hi")
    conversation = (
        Message("system", "be brief", name="house"),
        Message("user", [IMAGE], name="Ada"),
        Message("assistant", "let me look", ASKED),
        Message("tool", "found", call_id="a", name="look", status="ok"),
        Message("tool", "boom", call_id="b", name="look", status="error"),
    )

    await ChatModel(provider).generate(ModelRequest(messages=conversation))

    tool_calls = [{"name": "look", "args": {"x": 1}, "id": name} for name in "ab"]
    assert provider.seen[0] == [
        SystemMessage("be brief", name="house"),
        HumanMessage([IMAGE], name="Ada"),
        AIMessage("let me look", tool_calls=tool_calls),
        ToolMessage("found", tool_call_id="a", name="look", status="success"),
        ToolMessage("boom", tool_call_id="b", name="look", status="error"),
    ]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("ok", "success"),
        (None, "success"),
        ("error", "error"),
        ("denied", "error"),
        ("pending", "error"),
        ("cancelled", "error"),
    ],
)
async def test_what_has_no_value_is_shown_as_an_error(status: str | None, shown: str) -> None:
    provider = Provider("hi")
    answer = Message("tool", "why", call_id="a", name="look", status=status)
    await ChatModel(provider).generate(asking(Message("assistant", "", ASKED[:1]), answer))
    assert provider.seen[0][-1].status == shown


async def test_what_a_provider_does_to_its_messages_leaves_the_conversation_alone() -> None:
    class Tidy(Provider):
        async def _agenerate(self, messages: Any, *rest: Any, **options: Any) -> Any:
            messages[0].content[0]["source"]["url"] = "changed"
            messages[1].tool_calls[0]["args"]["x"]["y"] = 2
            return await super()._agenerate(messages, *rest, **options)

    blocks: Any = [{"type": "image", "source": {"url": "x"}}]
    call = ToolCall("a", "look", {"x": {"y": 1}})
    conversation = (Message("user", blocks), Message("assistant", "", (call,)))
    await ChatModel(Tidy("hi")).generate(ModelRequest(messages=conversation))
    assert blocks == [{"type": "image", "source": {"url": "x"}}]
    assert call.arguments == {"x": {"y": 1}}


@pytest.mark.parametrize(
    ("choice", "bound"),
    [
        ("auto", {"tools": [LOOK_SHOWN]}),
        ("required", {"tools": [LOOK_SHOWN], "tool_choice": "any"}),
        ("look", {"tools": [LOOK_SHOWN], "tool_choice": "look"}),
        ("none", {}),
    ],
)
async def test_tools_are_bound_in_langchains_words(choice: str, bound: dict[str, Any]) -> None:
    provider = Provider("hi")
    await ChatModel(provider).generate(asking(tools=(LOOK,), tool_choice=choice))
    assert provider.bound == [bound]


@pytest.mark.parametrize("choice", ["no such tool", "any", ""])
async def test_a_choice_of_no_tool_asks_nobody(choice: str) -> None:
    provider = Provider("hi")
    with pytest.raises(ToolUsageError, match="tool_choice"):
        await ChatModel(provider).generate(asking(tools=(LOOK,), tool_choice=choice))
    with pytest.raises(ToolUsageError, match="tool_choice"):
        await ChatModel(provider).generate(asking(tool_choice="required"))
    assert provider.seen == []


async def test_a_tool_is_shown_without_references_as_langchain_shows_its_own() -> None:
    @tool
    def greet(people: list[Person]) -> str:
        """Greet them."""
        return ""

    provider = Provider("hi")
    await ChatModel(provider).generate(asking(tools=tuple(Registry([greet]).specs())))
    shown = provider.bound[0]["tools"][0]["function"]["parameters"]
    assert "$" not in json.dumps(shown)
    assert shown["properties"]["people"]["items"]["properties"]["name"]["type"] == "string"


@pytest.mark.parametrize("tools", [(), (LOOK,)])
async def test_options_are_bound_as_they_are(tools: tuple[ToolSpec, ...]) -> None:
    provider = Provider("hi")
    options = {"top_p": 0.5, "tool_choice": {"type": "any"}}
    asked = asking(tools=tools, tool_choice="look" if tools else "auto", options=options)
    await ChatModel(provider).generate(asked)
    assert provider.bound == [{"tools": [LOOK_SHOWN], **options} if tools else options]


@pytest.mark.parametrize(
    ("said", "before"),
    [(None, ""), ("be brief", "be brief\n\n"), ([{"type": "text", "text": "brief"}], "brief")],
)
async def test_an_output_schema_is_asked_for_in_the_one_system_text_beside_tools(
    said: Any, before: str
) -> None:
    """Item 40: whatever the provider can do; one that can enforce it is told so by the options."""
    provider = Provider("hi")
    system = () if said is None else (Message("system", said),)
    options = {"response_format": {"type": "json_object"}}
    asked = ModelRequest(
        messages=(*system, USER), tools=(LOOK,), output_schema=SCHEMA, options=options
    )

    await ChatModel(provider).generate(asked)

    first, *rest = provider.seen[0]
    assert isinstance(first, SystemMessage)
    assert first.text.startswith(before + "When you answer without calling a tool")
    assert json.loads(first.text[first.text.index("{") :]) == SCHEMA
    assert rest == [HumanMessage("go")]
    assert provider.bound == [{"tools": [LOOK_SHOWN], **options}]


async def test_a_reply_has_its_text_calls_usage_and_cost() -> None:
    used = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    reply = calls(("look", {"x": 1}, "a"), ("look", {"x": 1}, "b"), usage_metadata=used)
    model = ChatModel(Provider(reply, "hi"), cost=lambda given: len(given.tool_calls) / 4)
    assert await model.generate(asking()) == ModelReply("", ASKED, Usage(7, 3, 0.5))
    assert await model.generate(asking()) == ModelReply("hi")


async def test_a_reply_that_is_no_models_message_is_a_model_error() -> None:
    model = ChatModel(FakeMessagesListChatModel(responses=[HumanMessage("hi")]))
    with pytest.raises(ModelError, match="HumanMessage"):
        await model.generate(asking())


async def test_a_providers_failure_is_a_model_error_with_its_cause() -> None:
    down = OSError("connection refused")
    with pytest.raises(ModelError, match="Provider failed: OSError: connection refused") as caught:
        await ChatModel(Provider(down)).generate(asking())
    assert caught.value.__cause__ is down


@pytest.mark.parametrize("signal", [GraphInterrupt(()), CheckpointConflict("run", "taken")])
async def test_signals_and_the_records_errors_pass_as_they_are(signal: Exception) -> None:
    with pytest.raises(type(signal)) as caught:
        await ChatModel(Provider(signal)).generate(asking())
    assert caught.value is signal


async def test_a_cancelled_request_is_cancelled() -> None:
    asked = asyncio.Event()

    class Slow(Provider):
        async def _agenerate(self, *_: Any, **__: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(ChatModel(Slow()).generate(asking()))
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_tools_need_a_model_that_can_call_them() -> None:
    model = ChatModel(FakeListChatModel(responses=["hi"]))
    with pytest.raises(ConfigError, match="FakeListChatModel cannot call tools"):
        await model.generate(asking(tools=(LOOK,)))
    assert (await model.generate(asking())).text == "hi"


def test_a_model_with_bound_settings_is_refused() -> None:
    with pytest.raises(ConfigError, match="options"):
        ChatModel(Provider().bind(top_p=0.5))


def test_the_cache_key_tells_settings_and_classes_apart() -> None:
    def fields(responses: list[str], **settings: Any) -> Any:
        return ChatModel(FakeListChatModel(responses=responses, **settings)).cache_key_fields()

    assert fields(["a"]) == fields(["a"])
    assert fields(["a"]) != fields(["b"])
    assert fields(["a"]) != ChatModel(Provider()).cache_key_fields()
    assert json.loads(json.dumps(fields(["a"]))) == fields(["a"])

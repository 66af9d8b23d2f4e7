"""A LangChain chat model in the durable loop: it calls tools, streams, and goes on after a crash with its own replies."""

from pathlib import Path

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from lg_provider import Provider, calls, half_call
from pydantic import BaseModel

from agent_adapter import ModelError, Registry, RunLimitExceeded, RunLimits, tool
from agent_adapter.exec import Executor, recover_tool_loop, run_tool_loop
from agent_adapter.models import Usage
from agent_adapter_langgraph import ChatModel

SIGNED = calls(
    ("double", {"x": 2}, "a"), ("double", {"x": 3}, "b"), additional_kwargs={"signature": b"\x00"}
)
ANSWERED = [
    HumanMessage("go"),
    SIGNED,
    ToolMessage("4", tool_call_id="a", name="double"),
    ToolMessage("6", tool_call_id="b", name="double"),
]


class Total(BaseModel):
    total: int


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def registry(ran: list[int]) -> Registry:
    @tool
    def double(x: int) -> int:
        ran.append(x)
        return 2 * x

    return Registry([double])


async def test_it_calls_tools_and_is_shown_their_results(
    registry: Registry, ran: list[int]
) -> None:
    """Item 36: the calls of a turn are answered in call order, beside the model's own reply."""
    provider = Provider(SIGNED.model_copy(deep=True), "10 in all")

    result = await run_tool_loop(ChatModel(provider), registry, "go")

    assert (result.status, result.reply.text, sorted(ran)) == ("done", "10 in all", [2, 3])
    assert provider.seen == [[HumanMessage("go")], ANSWERED]


async def test_its_text_streams_and_its_calls_run(registry: Registry, ran: list[int]) -> None:
    """Item 40: on_text gets the streamed text once."""
    used = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    asks = ["one ", "moment", half_call("double", '{"x"', "a"), half_call(None, ": 2}", None)]
    says = ["it ", "is 4", AIMessageChunk("", usage_metadata=used)]
    heard: list[str] = []

    result = await run_tool_loop(
        ChatModel(Provider(asks, says)), registry, "go", on_text=heard.append
    )

    assert heard == ["one ", "moment", "it ", "is 4"]
    assert (result.reply.text, result.usage, ran) == ("it is 4", Usage(7, 3), [2])


async def test_an_output_schema_is_asked_for_and_parsed(registry: Registry) -> None:
    """Item 40: beside the tools, in every turn."""
    provider = Provider(SIGNED.model_copy(deep=True), '{"total": 10}')
    result = await run_tool_loop(ChatModel(provider), registry, "go", output_schema=Total)
    assert result.parsed == Total(total=10)
    assert [isinstance(shown[0], SystemMessage) for shown in provider.seen] == [True, True]
    assert [bool(bound["tools"]) for bound in provider.bound] == [True, True]


async def test_a_recovered_run_gives_the_provider_its_own_reply_back(
    registry: Registry, ran: list[int], tmp_path: Path
) -> None:
    """Items 88 and 104: the finished calls replay, and the reply has its signature still."""
    store = str(tmp_path / "runs.db")
    failing = ChatModel(Provider(SIGNED.model_copy(deep=True), OSError("down")))
    with pytest.raises(ModelError, match="down"):
        await run_tool_loop(failing, registry, "go", checkpoints=store, run_id="run")
    provider = Provider(AIMessage("10 in all"))

    result = await recover_tool_loop(ChatModel(provider), registry, "run", checkpoints=store)

    assert (result.reply.text, sorted(ran)) == ("10 in all", [2, 3])
    assert provider.seen == [ANSWERED]


async def test_what_replies_cost_is_counted(registry: Registry) -> None:
    """Item 155: LangChain reports no cost, so the application says what a reply cost."""
    model = ChatModel(Provider(SIGNED.model_copy(deep=True), "never"), cost=lambda _: 2.0)
    executor = Executor(limits=RunLimits(max_cost=1.0))
    with pytest.raises(RunLimitExceeded, match="max_cost"):
        await run_tool_loop(model, registry, "go", executor=executor)

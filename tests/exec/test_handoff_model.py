"""After a handoff the agent that was handed to has the last word; otherwise the wrapped model speaks."""

from typing import Any

import pytest

from agent_adapter import ModelError, ToolCall, ToolSpec
from agent_adapter.exec import HandoffModel
from agent_adapter.models import Message, ModelChunk, ModelReply, ModelRequest, Usage
from agent_adapter.testing.models import ScriptedModel

TOOLS = (
    ToolSpec("look", "", {}, ("read",)),
    ToolSpec("sales", "", {}, ("handoff",)),
    ToolSpec("support", "", {}, ("handoff", "other")),
)
MODEL_SAYS = ModelReply("the model's own words", usage=Usage(1, 2))
ANSWER = ModelReply("sold")


def asking(*names: str) -> Message:
    calls = tuple(ToolCall(f"call-{n}", name) for n, name in enumerate(names))
    return Message("assistant", "", calls)


def result(n: int, name: str, text: Any, status: str = "ok") -> Message:
    return Message("tool", text, call_id=f"call-{n}", name=name, status=status)


def request(*messages: Message) -> ModelRequest:
    return ModelRequest(messages=(Message("user", "hi"), *messages), tools=TOOLS)


HANDED_OFF = request(asking("look", "sales"), result(0, "look", "x"), result(1, "sales", "sold"))

DELEGATED = {
    "nothing was asked yet": request(),
    "no handoff among the calls": request(asking("look"), result(0, "look", "x")),
    "failed": request(asking("sales"), result(0, "sales", "boom", "error")),
    "denied": request(asking("sales"), result(0, "sales", "no", "denied")),
    "pending": request(asking("sales"), result(0, "sales", "", "pending")),
    "cancelled": request(asking("sales"), result(0, "sales", "", "cancelled")),
    "without a status": request(asking("sales"), Message("tool", "sold", call_id="call-0")),
    "without a result": request(asking("sales")),
    "in an earlier turn": request(
        asking("sales"), result(0, "sales", "sold"), asking("look"), result(0, "look", "x")
    ),
    "in an earlier turn under the same call id": request(
        asking("sales"), result(0, "sales", "sold"), asking("sales")
    ),
    "after the last reply": request(
        asking("sales"), result(0, "sales", "sold"), Message("assistant", "well, sold")
    ),
    "a tool that is not shown": ModelRequest(messages=HANDED_OFF.messages, tools=TOOLS[:1]),
}
delegated = pytest.mark.parametrize("asked", DELEGATED.values(), ids=DELEGATED)


async def test_the_handoffs_answer_is_the_final_reply() -> None:
    """Item 32: the wrapped model is not called."""
    wrapped = ScriptedModel([MODEL_SAYS])
    assert await HandoffModel(wrapped).generate(HANDED_OFF) == ANSWER
    assert wrapped.requests == []


@delegated
async def test_without_a_successful_handoff_the_model_replies(asked: ModelRequest) -> None:
    """Item 32: before a handoff, and after one that has no answer."""
    wrapped = ScriptedModel([MODEL_SAYS])
    assert await HandoffModel(wrapped).generate(asked) == MODEL_SAYS
    assert wrapped.requests == [asked]


async def test_of_several_handoffs_the_first_call_counts() -> None:
    """Item 32: in call order, whatever order the results stand in; one that failed is passed over."""
    results = (result(1, "sales", "second"), result(0, "support", "first"))
    in_call_order = request(asking("support", "sales"), *results)
    failed = request(asking("support", "sales"), results[0], result(0, "support", "x", "error"))
    model = HandoffModel(ScriptedModel([]))
    assert await model.generate(in_call_order) == ModelReply("first")
    assert await model.generate(failed) == ModelReply("second")


async def test_a_message_after_the_result_does_not_undo_the_handoff() -> None:
    """Item 32: anything after the last assistant message counts."""
    asked = request(asking("sales"), result(0, "sales", "sold"), Message("user", "thanks"))
    assert await HandoffModel(ScriptedModel([])).generate(asked) == ANSWER


async def test_an_answer_of_blocks_stays_one() -> None:
    """Item 32: the reply equals the handoff's answer."""
    blocks = [{"type": "text", "text": "sold"}, {"type": "image", "url": "x"}]
    asked = request(asking("sales"), result(0, "sales", blocks))
    assert await HandoffModel(ScriptedModel([])).generate(asked) == ModelReply(blocks)


async def test_the_answer_streams_as_one_chunk() -> None:
    """Item 33."""
    wrapped = ScriptedModel([MODEL_SAYS])
    chunks = [chunk async for chunk in HandoffModel(wrapped).stream(HANDED_OFF)]
    assert chunks == [ModelChunk("sold", ANSWER)]
    assert wrapped.requests == []


@delegated
async def test_otherwise_the_wrapped_stream_comes_as_it_is(asked: ModelRequest) -> None:
    """Item 33: unchanged and in order."""
    chunks = [chunk async for chunk in HandoffModel(ScriptedModel([MODEL_SAYS])).stream(asked)]
    alone = [chunk async for chunk in ScriptedModel([MODEL_SAYS]).stream(asked)]
    assert chunks == alone
    assert len(chunks) == 5


async def test_an_error_of_the_wrapped_model_passes() -> None:
    """Item 32: it is a delegate, and adds nothing to a failure."""
    error = ModelError("down")
    with pytest.raises(ModelError) as caught:
        await HandoffModel(ScriptedModel([error])).generate(request())
    assert caught.value is error


def test_its_cache_key_is_that_of_the_wrapped_model() -> None:
    """Item 34."""
    wrapped = ScriptedModel([], name="inner")
    assert HandoffModel(HandoffModel(wrapped)).cache_key_fields() == wrapped.cache_key_fields()

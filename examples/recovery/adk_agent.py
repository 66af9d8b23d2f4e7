"""A Google ADK app with a scripted model; the plugin that makes its tools durable is the only difference."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from google.adk.agents import Agent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types
from script import LAST_WORDS, WISHES

from agent_adapter_adk import DurableTools


def build(tools: Sequence[Callable[..., Any]], durable: DurableTools | None) -> App:
    """The app: the model asks for three calls in one turn, and then says that it is done."""
    return App(
        name="trips",
        root_agent=Agent(name="clerk", model=ScriptedModel(model="scripted"), tools=list(tools)),
        plugins=[durable.plugin()] if durable else [],
        resumability_config=ResumabilityConfig(is_resumable=True),
    )


class ScriptedModel(BaseLlm):
    """Asks for the calls, and ends once they are answered."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The model's reply."""
        del stream
        last = llm_request.contents[-1].parts or []
        calls = [types.Part(function_call=types.FunctionCall(**wish)) for wish in WISHES]
        answered = any(part.function_response for part in last)
        parts = [types.Part(text=LAST_WORDS)] if answered else calls
        yield LlmResponse(content=types.Content(role="model", parts=parts))

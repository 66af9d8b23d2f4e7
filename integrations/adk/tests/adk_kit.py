"""Scripted models, tools that leave a line in a file, and session services: for tests and for their child processes."""

import inspect
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import PrivateAttr

# What a model says at once: words, or calls.
Reply = str | Sequence[types.Part]


def ask(tool: str, x: Any = None, *, call_id: str | None = None, **args: Any) -> types.Part:
    """A call of the tool, with `x=x` or with these arguments, under an id that the model gives or leaves out."""
    given = args if x is None else {"x": x, **args}
    return types.Part(function_call=types.FunctionCall(id=call_id, name=tool, args=given))


class ScriptedModel(BaseLlm):
    """Plays its n-th reply where it is shown n replies of its own, "done" after the last; keeps nothing but what it saw.

    Attributes:
        replies: what it says, in order.
    """

    model: str = "scripted"
    replies: Sequence[Any] = ()
    _seen: list[list[types.Content]] = PrivateAttr(default_factory=list)

    def __init__(self, *replies: Reply, **settings: Any) -> None:
        super().__init__(replies=replies, **settings)

    @property
    def seen(self) -> list[list[types.Content]]:
        """What it was shown, request by request."""
        return self._seen

    def next(self, contents: Sequence[types.Content]) -> int:
        """Which reply comes now."""
        return sum(content.role == "model" for content in contents)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        number = self.next(llm_request.contents)
        self._seen.append([content.model_copy(deep=True) for content in llm_request.contents])
        reply = self.replies[number] if number < len(self.replies) else "done"
        said = [types.Part(text=reply)] if isinstance(reply, str) else list(reply)
        parts = [part.model_copy(deep=True) for part in said]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class ListedModel(ScriptedModel):
    """Plays its n-th reply at its n-th request, whatever it is shown: a model that plans anew."""

    def next(self, contents: Sequence[types.Content]) -> int:
        return len(self._seen)


class Oracle:
    """A file in which every effect is a line that is on disk before the tool goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def lines(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []

    def function(self, name: str, then: Callable[[str], Any] | None = None) -> Callable[..., Any]:
        """A function `name(x)` with the effect `name:x`; gives `{"did": "name x"}`, or what `then(x)` gives or raises."""

        async def run(x: str) -> Any:
            self.write(f"{name}:{x}")
            given = then(x) if then else {"did": f"{name} {x}"}
            return await given if inspect.isawaitable(given) else given

        run.__name__ = run.__qualname__ = run.__doc__ = name
        return run

    def tool(
        self, name: str, then: Callable[[str], Any] | None = None, **settings: Any
    ) -> FunctionTool:
        """The same as a tool of ADK, `require_confirmation=True` for example."""
        return FunctionTool(self.function(name, then), **settings)


def agent(model: BaseLlm, *tools: Any, name: str = "root", **settings: Any) -> LlmAgent:
    """An agent of these tools."""
    return LlmAgent(name=name, description=name, model=model, tools=list(tools), **settings)


def service_on(path: Path, kind: str = "sqlite") -> BaseSessionService:
    """ADK's own session service on this file: "sqlite" or "database"."""
    if kind == "database":
        return DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    return SqliteSessionService(str(path))


def responses(events: Sequence[Event]) -> dict[str, Any]:
    """The last response to each tool in these events, by the tool's name; ADK's own questions are left out."""
    return {
        str(response.name): response.response
        for event in events
        for response in event.get_function_responses()
        if response.name not in ("adk_request_confirmation", "adk_request_input")
    }


def shown(model: ScriptedModel) -> dict[str, Any]:
    """What the model was shown last: the names of its calls, and the response to each by that name."""
    parts = [part for content in model.seen[-1] for part in content.parts or []]
    answers = [part.function_response for part in parts if part.function_response]
    return {
        "calls": [part.function_call.name for part in parts if part.function_call],
        "responses": {answer.name: answer.response for answer in answers},
    }


def words(events: Sequence[Event]) -> list[str]:
    """What was said, in order; nothing that the user wrote."""
    return [
        part.text
        for event in events
        if event.author != "user" and event.content
        for part in event.content.parts or []
        if part.text
    ]

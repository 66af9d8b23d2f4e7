"""Workers for the published contract of bridges: an ADK agent of a scene with the plugin, its session in a file."""

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from adk_chat import Chat
from adk_kit import agent, service_on
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import PrivateAttr

from agent_adapter.testing.bridges import AskedCall, Outcome, Scene
from agent_adapter_adk import DurableTools

CONFIRMATION = "adk_request_confirmation"
LAST_WORDS = "done"


class SceneModel(BaseLlm):
    """Follows the scene's plan by the replies of its own that it is shown."""

    model: str = "scene"
    _scene: Scene = PrivateAttr()

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        calls = self._scene.reply(sum(each.role == "model" for each in llm_request.contents))
        parts = [
            types.Part(
                function_call=types.FunctionCall(
                    id=call.id, name=call.name, args=dict(call.arguments)
                )
            )
            for call in calls
        ]
        said = parts or [types.Part(text=LAST_WORDS)]
        yield LlmResponse(content=types.Content(role="model", parts=said))


class SqliteWorker:
    """The plugin in an app, its sessions in ADK's `SqliteSessionService`."""

    service = "sqlite"

    def __init__(self, scene: Scene) -> None:
        durable = DurableTools(
            scene.store(), policies=scene.policies, claim_wait_s=scene.claim_wait_s
        )
        tools = [FunctionTool(function) for function in scene.tools.values()]
        root = agent(SceneModel(scene), *tools)
        self._chat = Chat(durable, root, service_on(scene.folder / "sessions.db", self.service))

    async def start(self) -> Outcome:
        await self._chat.say()
        return await self._outcome()

    async def resume(self) -> Outcome:
        await self._chat.resume()
        return await self._outcome()

    async def answer(self, given: Mapping[str, Any]) -> Outcome:
        """By `DurableTools.answer` where all of them answer what is open; else posted as an interface would."""
        names = {each.id for each in await self._chat.pending()}
        if given.keys() <= names and all(_is_plain(said) for said in given.values()):
            session = await self._chat.session()
            await self._chat.durable.answer(self._chat.runner, session, given)
        else:
            await self._chat.post({name: _posted(said) for name, said in given.items()})
        return await self._outcome()

    async def close(self) -> None:
        await self._chat.runner.close()
        if hasattr(self._chat.service, "close"):
            await self._chat.service.close()

    async def _outcome(self) -> Outcome:
        events = (await self._chat.session()).events
        about = {
            call.id: (call.args or {})["originalFunctionCall"]["id"]
            for event in events
            for call in event.get_function_calls()
            if call.name == CONFIRMATION
        }
        asked = tuple(
            AskedCall(each.id, about[each.id], each.tool, each.arguments, each.cause)
            for each in await self._chat.pending()
        )
        waiting = {each.call for each in asked}
        told = {
            str(response.id): _text(response.response)
            for event in events
            for response in event.get_function_responses()
            if response.name != CONFIRMATION and response.id not in waiting
        }
        return Outcome(asked, told, not asked and _last_words(events) == LAST_WORDS)


class DatabaseWorker(SqliteWorker):
    """The same with ADK's `DatabaseSessionService`."""

    service = "database"


def _is_plain(said: Any) -> bool:
    return said in ("approve", "reject") or (
        isinstance(said, dict)
        and said.get("type") in ("edit", "reject", "respond")
        and len(said) > 1
    )


def _posted(said: Any) -> dict[str, Any]:
    """The response of an interface that was given this."""
    if _is_plain(said):
        refuses = said == "reject" or (isinstance(said, dict) and said["type"] == "reject")
        payload = {} if isinstance(said, str) else {"payload": said}
        return {"confirmed": not refuses, **payload}
    return said if isinstance(said, dict) else {"result": said}


def _text(response: Any) -> str:
    """What the model reads; a text that a tool gave stands alone under `result`."""
    if isinstance(response, dict) and response.keys() == {"result"}:
        response = response["result"]
    return response if isinstance(response, str) else json.dumps(response, sort_keys=True)


def _last_words(events: list[Event]) -> str | None:
    texts = [
        part.text
        for event in events
        if event.author != "user" and event.content
        for part in event.content.parts or []
        if part.text
    ]
    return texts[-1] if texts else None

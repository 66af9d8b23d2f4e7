"""One session of one app, as a user or a web server holds it: say, post an answer, go on, read what is stored."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.genai import types

from agent_adapter_adk import DurableTools, OpenQuestion

APP, USER, SESSION = "shop", "user", "session"


class Chat:
    """One session of an app that has the plugin; a second chat of the same files is a second worker.

    Args:
        durable: whose plugin is in the app; None for the bare framework.
        root: the app's root agent.
        service: where the session is.
        resumable: whether the app is.
        session: the session's id.
        plugins: those behind ours.
    """

    def __init__(
        self,
        durable: DurableTools | None,
        root: Any,
        service: BaseSessionService,
        *,
        resumable: bool = True,
        session: str = SESSION,
        plugins: tuple[Any, ...] = (),
    ) -> None:
        self.durable: Any = durable
        self.service = service
        self.name = session
        first = () if durable is None else (durable.plugin(),)
        app = App(
            name=APP,
            root_agent=root,
            plugins=[*first, *plugins],
            resumability_config=ResumabilityConfig(is_resumable=True) if resumable else None,
        )
        self.runner = Runner(
            app=app,
            session_service=service,
            artifact_service=InMemoryArtifactService(),
            auto_create_session=True,
        )

    async def session(self) -> Session:
        """The session as it is stored now."""
        found = await self.service.get_session(app_name=APP, user_id=USER, session_id=self.name)
        assert found is not None
        return found

    async def run(
        self,
        message: types.Content | None = None,
        *,
        until: Callable[[Event], bool] = lambda _: False,
        **options: Any,
    ) -> list[Event]:
        """The events of one run; after the first for which `until` holds nobody reads on."""
        found = []
        running = self.runner.run_async(
            user_id=USER, session_id=self.name, new_message=message, **options
        )
        async with aclosing(running):
            async for event in running:
                found.append(event)
                if until(event):
                    break
        return found

    async def say(self, text: str = "go", **options: Any) -> list[Event]:
        """The events of the run that answers these words."""
        return await self.run(types.Content(role="user", parts=[types.Part(text=text)]), **options)

    async def post(self, answers: dict[str, Any], **options: Any) -> list[Event]:
        """The events of the run that goes on with these raw responses, by the id of ADK's question or of the call."""
        names = {
            call.id: call.name
            for event in (await self.session()).events
            for call in event.get_function_calls()
        }
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=name, name=names.get(name, "adk_request_confirmation"), response=response
                )
            )
            for name, response in answers.items()
        ]
        return await self.run(types.Content(role="user", parts=parts), **options)

    async def pending(self) -> list[OpenQuestion]:
        """The open questions."""
        return list(self.durable.pending(await self.session()))

    async def answer(self, *said: Any, tool: str = "") -> list[Event]:
        """The events of going on with these answers to the open questions, in their order; or to those about one tool."""
        asked = [each for each in await self.pending() if tool in ("", each.tool)]
        given = {each.id: one for each, one in zip(asked, said, strict=True)}
        found: list[Event] = await self.durable.answer(self.runner, await self.session(), given)
        return found

    async def resume(self) -> list[Event]:
        """The events of going on with the newest invocation."""
        found: list[Event] = await self.durable.resume(self.runner, await self.session())
        return found

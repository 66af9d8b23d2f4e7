"""One process of an ADK run: it makes the app anew, and goes on until the run is quiet."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from adk_agents import AGENTS
from adk_drivers import BareDriver, BridgeDriver, Driver, post, waiting_for_client
from adk_flows import FLOWS
from adk_kit import Kit, Scenario
from adk_person import Mood, Person
from adk_points import PointedStore, Service, open_service
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.genai import types
from loop_points import hit
from record import Record

from agent_adapter_adk import DurableTools, Stopped

SCENARIOS: dict[str, Scenario] = {**AGENTS, **FLOWS}
PASSES = 14
POKES = 3
APP, USER = "lab", "ann"


class Cell(NamedTuple):
    """One combination of the matrix; one that is not protected runs on ADK alone."""

    scenario: str
    service: Service = "sqlite"
    protected: bool = True


class Here(NamedTuple):
    """What a process works with."""

    runner: Runner
    service: BaseSessionService
    driver: Driver


class AdkWorker:
    """A process of one run.

    Args:
        cell: which scenario, over which session service.
        folder: the run's own.
        mood: what its person says of calls in doubt.
        one_by_one: its person answers one question at a time.
        plain: it resumes as ADK's own clients do.
        kill_server_at: see `Kit`.
    """

    def __init__(
        self,
        cell: Cell,
        folder: Path,
        *,
        mood: Mood = "honest",
        one_by_one: bool = False,
        plain: bool = False,
        kill_server_at: str = "",
    ) -> None:
        self.cell = cell
        self.scenario = SCENARIOS[cell.scenario]
        self.record = Record(folder)
        self._folder = folder
        self._one_by_one = one_by_one
        self._plain = plain
        self._kill_server_at = kill_server_at
        self._person = Person(self.record, mood)

    async def converse(self) -> None:
        """Go on until every session is quiet; how they stand then is noted."""
        async with self._here() as here:
            names = [f"s{n}" for n in range(len(self.scenario.sessions))]
            await asyncio.gather(*(self._serve(here, n, name) for n, name in enumerate(names)))
            for name in names:
                self._note_end(name, await self._session(here, name), here.driver)

    async def poke(self) -> None:
        """Take every session up, several times, while nobody answers."""
        async with self._here() as here:
            for n in range(len(self.scenario.sessions)):
                for _ in range(POKES):
                    session = await self._session(here, f"s{n}")
                    if session.events:
                        await self._once("poke", here.driver.resume(session))

    @contextlib.asynccontextmanager
    async def _here(self) -> AsyncIterator[Here]:
        durable = None
        plugins: list[Any] = []
        if self.cell.protected:
            durable = DurableTools(
                PointedStore(self._folder / "runs.db"), policies=dict(self.scenario.policies)
            )
            plugins.append(durable.plugin())
        kit = Kit(self.record, self._folder, durable, self._kill_server_at)
        app = App(
            name=APP,
            root_agent=self.scenario.build(kit),
            plugins=plugins,
            resumability_config=ResumabilityConfig(is_resumable=not self.scenario.named),
        )
        service = open_service(self.cell.service, self._folder)
        runner = Runner(app=app, session_service=service)
        driver: Driver = BareDriver(runner, last=self.scenario.last)
        if durable is not None:
            last = self.scenario.last
            driver = BridgeDriver(runner, durable, plain=self._plain, last=last)
        try:
            yield Here(runner, service, driver)
        finally:
            await runner.close()
            await getattr(service, "close", _nothing)()

    async def _session(self, here: Here, name: str) -> Session:
        where = {"app_name": APP, "user_id": USER, "session_id": name}
        found = await here.service.get_session(**where)
        return found or await here.service.create_session(**where)

    async def _serve(self, here: Here, number: int, name: str) -> None:
        messages = [self.scenario.sessions[number], *self.scenario.more]
        delivered = False
        for _ in range(PASSES):
            session = await self._session(here, name)
            said = sum(_is_said(event) for event in session.events)
            questions = here.driver.pending(session)
            if questions:
                hit(f"asked {name}")
                shown = questions[:1] if self._one_by_one else questions
                answers = self._person.answer(shown, _answered_by_user(session))
                await self._once("answer", here.driver.answer(session, answers))
            elif self.scenario.named:
                if delivered:
                    return
                part = types.Part(text=messages[0])
                work = post(here.runner, session, [part], run_name="order-42")
                await self._once("delivery", work)
                delivered = True
            elif said and await self._once("resume", here.driver.resume(session)):
                continue
            elif waiting := waiting_for_client(await self._session(here, name)):
                invocation, part = waiting[0]
                self.record.add("late", id=part.function_response.id)
                await self._once("late", post(here.runner, session, [part], invocation))
            elif said < len(messages):
                part = types.Part(text=messages[said])
                await self._once("message", post(here.runner, session, [part]))
            else:
                return
        raise RuntimeError(f"session {name} is not quiet after {PASSES} passes")

    async def _once(self, kind: str, work: Any) -> bool:
        """Whether one pass did anything, and if only fail; how it ended is noted."""
        before = self.record.effects()
        turns = len(self.record.read("turns"))
        events: list[Event] = []
        error = ""
        try:
            events = await work
        except (Exception, Stopped) as raised:  # noqa: BLE001 - judged by the verdict
            error = f"{type(raised).__name__}: {raised}"
        did = self.record.effects() - before
        turns = len(self.record.read("turns")) - turns
        self.record.add(
            "passes", what=kind, events=len(events), error=error, effects=dict(did), turns=turns
        )
        return bool(events or error)

    def _note_end(self, name: str, session: Session, driver: Driver) -> None:
        texts = []
        for event in session.events:
            parts = (event.content and event.content.parts) or []
            text = "".join(part.text for part in parts if part.text and not part.thought)
            if text and [event.author, text] not in texts:
                texts.append([event.author, text])
        answers = [
            [response.name, response.response]
            for event in session.events
            for response in event.get_function_responses()
            if response.name not in ("adk_request_confirmation", "adk_request_input")
        ]
        outputs = [
            [event.node_info.path, str(event.output)]
            for event in session.events
            if event.output is not None and event.node_info
        ]
        self.record.add(
            "ends",
            session=name,
            texts=texts,
            answers=answers,
            outputs=outputs,
            state={key: value for key, value in session.state.items() if key.startswith("did_")},
            open=len(driver.pending(session)),
            unanswered=_unanswered(session),
        )


def _is_said(event: Event) -> bool:
    """Whether the event is words of the user."""
    parts = (event.content and event.content.parts) or []
    return event.author == "user" and any(part.text for part in parts)


def _answered_by_user(session: Session) -> set[str]:
    """The ids of the calls that somebody from outside has answered."""
    return {
        response.id or ""
        for event in session.events
        if event.author == "user"
        for response in event.get_function_responses()
    }


def _unanswered(session: Session) -> list[str]:
    """The calls of tools that no response answers."""
    answered = {r.id for event in session.events for r in event.get_function_responses()}
    return [
        f"{call.name} {call.args}"
        for event in session.events
        for call in event.get_function_calls()
        if call.id not in answered
    ]


async def _nothing() -> None:
    pass

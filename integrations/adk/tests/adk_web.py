"""ADK's own web server around one app, and a client that posts what ADK's user interface posts."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from adk_chat import APP, SESSION, USER
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.cli.fast_api import get_fast_api_app
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader

from agent_adapter_adk import DurableTools

PLACE = {"appName": APP, "userId": USER, "sessionId": SESSION}


class OneApp(BaseAgentLoader):
    """Knows one app."""

    def __init__(self, app: App) -> None:
        self._app = app

    def load_agent(self, agent_name: str) -> App:
        return self._app

    def list_agents(self) -> list[str]:
        return [APP]


class Browser:
    """A user of ADK's web server.

    Args:
        client: speaks to the server.
        way: the server's way to run: "run" or "run_sse".
    """

    def __init__(self, client: httpx.AsyncClient, way: str) -> None:
        self._client = client
        self._way = way
        # What the last request came to: an error that the server told, or nothing.
        self.error = ""

    async def post(self, *parts: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        """The events that come back, as JSON; `error` says why there are none."""
        body = {**PLACE, "newMessage": {"role": "user", "parts": list(parts)}, **more}
        answer = await self._client.post(f"/{self._way}", json=body)
        self.error = "" if answer.status_code == 200 else f"{answer.status_code}"
        if self._way == "run":
            return [] if self.error else list(answer.json())
        lines = [line for line in answer.text.splitlines() if line.startswith("data:")]
        told = [json.loads(line.removeprefix("data:")) for line in lines]
        self.error = next((each["error"] for each in told if "error" in each), self.error)
        return [each for each in told if "error" not in each]

    async def session(self) -> list[dict[str, Any]]:
        """The stored events."""
        found = await self._client.get(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
        return list(found.json()["events"])


def calls(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The calls of this name."""
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    found = [part["functionCall"] for part in parts if "functionCall" in part]
    return [call for call in found if call["name"] == name]


def results(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The responses, by the tool's name."""
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    found = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return {each["name"]: each["response"] for each in found}


@asynccontextmanager
async def browsing(
    durable: DurableTools, root: Any, folder: Path, way: str
) -> AsyncIterator[Browser]:
    """A user of a server that serves this root agent, its sessions on the folder's file."""
    app = App(
        name=APP,
        root_agent=root,
        plugins=[durable.plugin()],
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    server = get_fast_api_app(
        agents_dir=str(folder),
        agent_loader=OneApp(app),
        session_service_uri=f"sqlite:///{folder / 'web.db'}",
        artifact_service_uri="memory://",
        memory_service_uri="memory://",
        web=False,
    )
    transport = httpx.ASGITransport(server, raise_app_exceptions=False)
    async with (
        server.router.lifespan_context(server),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client,
    ):
        place = f"/apps/{APP}/users/{USER}/sessions"
        await client.post(place, json={"sessionId": SESSION})
        yield Browser(client, way)

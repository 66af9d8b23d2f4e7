"""What the ADK scenarios are built from, and what a scenario says about itself."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adk_model import ARGUMENT, Script, ScriptedModel
from google.adk.agents import LlmAgent
from google.adk.workflow import BaseNode
from record import Record

from agent_adapter.policies import ToolPolicy


@dataclass(frozen=True)
class Kit:
    """What the agents of one process are made with.

    Attributes:
        record: where tools and models write what they did.
        folder: the run's own.
        durable: the bridge, or None for the bare framework.
        kill_server_at: the point at which the server of an MCP tool kills the process that asked it.
    """

    record: Record
    folder: Path
    durable: Any
    kill_server_at: str = ""

    def agent(
        self,
        name: str,
        script: Script,
        tools: list[Any] | tuple[Any, ...] = (),
        *,
        ids: str = "new",
        drifts: bool = False,
        requests: tuple[str, ...] = (),
        **settings: Any,
    ) -> LlmAgent:
        """An agent that follows the script; `requests` names its tools that are agents themselves."""
        arguments = {**ARGUMENT, **dict.fromkeys(requests, "request")}
        model = ScriptedModel(
            record=self.record,
            script=script,
            agent=name,
            ids=ids,
            drifts=drifts,
            arguments=arguments,
        )
        return LlmAgent(name=name, description=name, model=model, tools=list(tools), **settings)


@dataclass(frozen=True)
class Scenario:
    """An app, and what it does when nothing happens to it.

    Attributes:
        build: makes its root.
        wishes: the orders that take effect, once each time they are named here, separated by spaces.
        policies: of its tools, by name.
        repeatable: whether its tools are idempotent, and nobody is asked about a call in doubt.
        approvals: how many questions are asked when nothing happens.
        sessions: what each session's user says first; they are served at the same time.
        more: what the user says next, once the run has ended.
        named: the caller names its request, and sends it anew after each death, to an app that is not resumable.
        raises: what an error of the run itself says, after which it is simply resumed.
        last: the agent whose end is the end of the run.
    """

    build: Callable[[Kit], BaseNode]
    wishes: str
    policies: Mapping[str, ToolPolicy] = field(default_factory=dict)
    repeatable: bool = False
    approvals: int = 0
    sessions: tuple[str, ...] = ("go",)
    more: tuple[str, ...] = ()
    named: bool = False
    raises: str = ""
    last: str = "root"

    @property
    def orders(self) -> Counter[str]:
        """How often each order is wished for."""
        return Counter(self.wishes.split())

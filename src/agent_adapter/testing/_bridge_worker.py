"""What a bridge brings to be tested: a worker that can start, go on and be answered, and tells how the run stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_adapter.testing._bridge_scene import Scene


@dataclass(frozen=True)
class AskedCall:
    """One call that a person is asked about.

    Attributes:
        id: what an answer names; the bridge's own form.
        call: the id that the model gave to the call.
        tool: the tool's name.
        arguments: the arguments that are shown.
        cause: why it is asked: "approval" before it began; "died", "raised", … for a call in doubt.
    """

    id: str
    call: str
    tool: str
    arguments: Mapping[str, Any]
    cause: str


@dataclass(frozen=True)
class Outcome:
    """Where the run stands after an act.

    Attributes:
        asked: every open question.
        told: what the model is told of each finished call, as text, by call id; no word of a call that waits.
        over: whether the model has said its last words.
    """

    asked: tuple[AskedCall, ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    over: bool = False


class BridgeWorker(Protocol):
    """One worker at one scene: a framework's own agent or graph of the scene's tools, protected by the bridge.

    Every act gets a worker made for it, as if the one before had gone: what it keeps is in the scene's folder and store.
    """

    async def start(self) -> Outcome:
        """The user's first message."""
        ...

    async def resume(self) -> Outcome:
        """Go on with the run that is there, without an answer; where it waits or is over, just tell how it stands."""
        ...

    async def answer(self, answers: Mapping[str, Any]) -> Outcome:
        """Give answers by `AskedCall.id`, as the framework's users do.

        Args:
            answers: "approve", "reject", `{"type": "reject", "message": text}`, `{"type": "respond", "message": value}` and
                `{"type": "edit", "args": {…}}`, to be put into the framework's words; whatever else is no answer at all, and
                handed on as it is. An id may be that of an old question, or of a question of somewhere else.
        """
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


MakeWorker = Callable[[Scene], BridgeWorker]

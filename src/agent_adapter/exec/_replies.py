"""The replies of a loop's model: journaled, where the loop is part of a visit, so that no turn is planned twice."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agent_adapter._canonical import check_plain
from agent_adapter.calls import ToolResult
from agent_adapter.errors import NotSealable
from agent_adapter.exec._asking import Asking
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._loop_messages import from_plain_message, plain_message
from agent_adapter.exec._loop_state import LoopState
from agent_adapter.exec._loop_store import View
from agent_adapter.limits import Meter, RunLimits
from agent_adapter.models import Message, ModelReply, Usage
from agent_adapter.policies import ToolPolicy

# The name under which a reply stands among a journal's calls; no tool can have it.
REPLY = "@model"
# A reply that was not recorded may be asked for again.
_REPEATABLE = ToolPolicy(idempotent=True)


@dataclass(frozen=True)
class NextReply:
    """A reply and where it is from.

    Attributes:
        reply: what the model said.
        view: what it was shown, when that was shortened.
        fresh: it was asked now.
        first: the messages that the loop began with, when the first reply is on record.
    """

    reply: ModelReply
    view: View | None
    fresh: bool = False
    first: tuple[Message, ...] | None = None


class Replies:
    """Where the next reply comes from.

    Args:
        journal: keeps the replies; None when they are kept elsewhere.
        meter: counts model calls and tokens, of replayed replies too.
        limits: what the run may use.
    """

    def __init__(
        self, journal: Journal | None, meter: Meter, limits: Sequence[RunLimits | None]
    ) -> None:
        self._journal = journal
        self._meter = meter
        self._limits = limits

    async def next(self, asking: Asking, state: LoopState, view: View | None) -> "NextReply":
        """The next reply: on record, or the model's.

        Raises:
            ModelError: the model failed, or its reply is none.
            RunLimitExceeded: the run may not ask again; the model was not asked.
        """
        slot = None
        if self._journal is not None:
            slot = self._journal.claim(
                REPLY, {"turn": state.turn}, dict[str, Any], policy=_REPEATABLE
            )
            if slot is not None and (known := await self._journal.look(slot)) is not None:
                await self._journal.settle(slot, known)
                reply = _from_plain(known.value)
                self._count(reply)
                return NextReply(reply, view, first=_first(known.value))
        try:
            self._meter.take_model_call(self._limits)
            if self._journal is not None and slot is not None:
                raced = await self._journal.started(slot)
                if raced is not None:
                    return NextReply(_from_plain(raced.value), view, first=_first(raced.value))
            reply, view = await asking.ask(state, view)
            self._meter.add({"tokens": reply.usage.tokens, "cost": reply.usage.cost})
            if not reply.calls:
                # A reply that cannot be read is not kept: whoever comes next asks again.
                asking.output.parse(reply.text)
        except BaseException as error:
            if self._journal is not None and slot is not None:
                await self._journal.leave(slot, error)
            raise
        if self._journal is not None and slot is not None:
            value = _plain(reply)
            if state.turn == 0:
                # The agent goes on with what it began with, whatever the program says by then.
                first = [plain_message(message) for message in state.messages]
                with suppress(NotSealable):
                    check_plain(first)
                    value["first"] = first
            result = ToolResult(call_id=f"turn-{state.turn}", tool=REPLY, value=value)
            self._journal.record(slot, result)
            await self._journal.settle(slot, result)
        return NextReply(reply, view, fresh=True)

    def _count(self, reply: ModelReply) -> None:
        used = {"model_calls": 1, "tokens": reply.usage.tokens, "cost": reply.usage.cost}
        self._meter.add(used)


def _plain(reply: ModelReply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "message": plain_message(reply.message),
        "usage": [usage.input_tokens, usage.output_tokens, usage.cost],
    }


def _first(plain: dict[str, Any]) -> tuple[Message, ...] | None:
    first = plain.get("first")
    return None if first is None else tuple(map(from_plain_message, first))


def _from_plain(plain: dict[str, Any]) -> ModelReply:
    message = from_plain_message(plain["message"])
    return ModelReply(message.content, message.calls, Usage(*plain["usage"]), message.extra)

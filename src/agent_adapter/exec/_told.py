"""Told: what a journal tells and asks the observer of its calls, and what of it goes on to the journals above."""

import asyncio
import hashlib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.exec._gather import ended
from agent_adapter.exec._slot import Observer, Slot, is_recorder
from agent_adapter.exec.control import is_control_flow


class Told:
    """A journal's way to its observer; what is recorded and replayed is `Journal`'s."""

    def __init__(
        self,
        observer: Observer | None,
        *,
        path: str,
        parent: "Told | None",
        asked: Mapping[str, Any],
    ) -> None:
        self.failure: BaseException | None = None
        self.parked: list[ApprovalRequest] = []
        self._observer = observer
        self._recorder = observer if observer is not None and is_recorder(observer) else None
        self._path = path
        self._parent = parent
        self._closed = False
        # The ids of requests that were asked and not answered yet, so that asking again is the same request.
        self._asked: dict[str, Any] = dict(asked)
        self._life = ""
        self._under_way: set[asyncio.Future[None]] = set()

    @property
    def durable(self) -> bool:
        """Whether an observer is told of every call."""
        return self._observer is not None

    @property
    def has_record(self) -> bool:
        """Whether the observer is a `Recorder`, which is asked before any policy and told of calls that end without result."""
        return self._recorder is not None

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A scope in which a call of this journal is under way, and so something in each journal above."""
        call: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        journals = list(self._upwards())
        for journal in journals:
            journal._under_way.add(call)  # noqa: SLF001 - one class
        try:
            yield
        finally:
            for journal in journals:
                journal._under_way.discard(call)  # noqa: SLF001 - one class
            if not call.done():
                call.set_result(None)

    async def idle(self) -> asyncio.CancelledError | None:
        """The caller's own cancellation while it waited until no call here or below was under way, or None."""
        cancelled = None
        while self._under_way:
            cancelled = await ended(set(self._under_way), shield=True) or cancelled
        return cancelled

    def _upwards(self) -> "Iterator[Told]":
        yield self
        if self._parent is not None:
            yield from self._parent._upwards()  # noqa: SLF001 - one class

    async def look(self, slot: Slot) -> ToolResult | None:
        """The result that is recorded for the call, before any policy is applied; None when the call is not over."""
        if slot.result is not None or self._recorder is None:
            return slot.result
        with self._failing():
            return await self._recorder.look(slot)

    async def started(self, slot: Slot) -> ToolResult | None:
        """The observer's answer to a call that is about to begin, None when the body has to run."""
        if self._observer is None:
            return None
        with self._failing():
            return await self._observer.started(slot)

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Tell the observer how the call ended; call it after `record`."""
        if self._observer is not None:
            with self._failing():
                await self._observer.settle(slot, result)

    @property
    def life(self) -> str:
        """What names the visit whenever it is entered; made once where nobody outside names it."""
        if self._recorder is not None:
            return self._recorder.life
        if self._parent is not None:
            return self._parent.life
        self._life = self._life or secrets.token_hex(16)
        return self._life

    def request_of(self, slot: Slot, shown: str) -> tuple[str, str | None]:
        """The id of the request that this call makes for arguments of the digest `shown`, and the run's id.

        It is the same whenever the call is met again with these arguments, and another for every other call.
        """
        if self._recorder is not None:
            parts = (self._recorder.life, slot.key, shown)
            name = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
            return name, self._recorder.run_id
        asked = self._asked.get(self._local(slot))
        known = asked is not None and asked["digest"] == shown
        return (asked["id"] if asked and known else secrets.token_hex(16)), None

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision that the observer knows of, None when somebody has to be asked."""
        if self._recorder is None:
            return None
        with self._failing():
            return await self._recorder.decide(slot, request)

    async def park(self, slot: Slot, request: ApprovalRequest) -> None:
        """Note that the call waits for a person."""
        self.note_parked(request)
        if not self._closed:
            self._asked[self._local(slot)] = {"id": request.id, "digest": request.digest}
        if self._recorder is not None:
            with self._failing():
                await self._recorder.park(slot, request)

    def note_parked(self, request: ApprovalRequest) -> None:
        """Something here waits for a person, so that whatever is above has not finished either."""
        self.parked.append(request)
        if self._parent is not None:
            self._parent.note_parked(request)

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """Tell the observer that the call ends without a result."""
        if self._recorder is not None:
            with self._failing():
                await self._recorder.leave(slot, error)

    async def late(self, slot: Slot, result: ToolResult) -> None:
        """Tell the observer how a body ended that nobody waits for any more."""
        if self._recorder is not None:
            await self._recorder.late(slot, result)

    def _local(self, slot: Slot) -> str:
        return slot.key.removeprefix(self._path)

    def fail(self, exc: BaseException) -> None:
        """Note an error of the record, here and above."""
        self.failure = self.failure or exc
        if self._parent is not None:
            self._parent.fail(exc)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except BaseException as exc:
            if not is_control_flow(exc):
                self.fail(exc)
            raise

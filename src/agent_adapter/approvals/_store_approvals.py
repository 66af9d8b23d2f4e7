"""StoreApprovals: the ApprovalPort that parks requests in a store and finds the decisions there."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from agent_adapter._canonical import digest
from agent_adapter._seconds import is_seconds
from agent_adapter.approvals._port import ApprovalStore
from agent_adapter.approvals._rules import has_expired
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest, now
from agent_adapter.context import RunContext
from agent_adapter.errors import ApprovalConflict, ConfigError

EXPIRY = "expiry"
# Ten thousand days; a later instant could leave the calendar.
LONGEST_WAIT_S = 10_000 * 86_400.0


class StoreApprovals:
    """ApprovalPort over an ApprovalStore: asking is parking, and the answer is whatever somebody stored.

    Args:
        store: where requests and decisions are.
        expires_after_s: how long after it was first parked a request can be decided; None: for ever.
        clock: the present instant, with a time zone; the store's own clock decides about late decisions.

    Attributes:
        store: as given.

    Raises:
        ConfigError: `store` is no ApprovalStore, or `expires_after_s` is not a number of seconds above zero.
    """

    def __init__(
        self,
        store: ApprovalStore,
        *,
        expires_after_s: float | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        if isinstance(store, type) or not isinstance(store, ApprovalStore):
            raise ConfigError(f"store must be an ApprovalStore, not {store!r}")
        if not is_seconds(expires_after_s) or (expires_after_s or 0) > LONGEST_WAIT_S:
            raise ConfigError(
                "expires_after_s must be None or a number of seconds above 0 and up to "
                f"{LONGEST_WAIT_S:.0f}, not {expires_after_s!r}"
            )
        self.store = store
        self._expires_after_s = expires_after_s
        self._clock = clock

    async def request(
        self,
        request: ApprovalRequest,
        ctx: RunContext,
    ) -> ApprovalDecision | None:
        """The stored decision, or None: the request is parked, and parking it again changes nothing.

        A request that expired undecided gives a denial by "expiry", which no store holds: there is nothing to consume.

        Raises:
            ApprovalConflict: the request's id stands for another tool or other arguments, or the store shows a person
                others than those that would run.
        """
        stored = await self.store.park(self._dated(request))
        if digest(stored.request.arguments) != digest(request.arguments):
            raise ApprovalConflict(
                f"request {request.id!r}: the store shows other arguments than those of the call; nothing ran"
            )
        if stored.decision is None and has_expired(stored.request, self._clock()):
            # A decision may have been stored just before; from now on the store takes none.
            stored = await self.store.get(request.id) or stored
            if stored.decision is None:
                return ApprovalDecision(
                    approved=False,
                    decided_by=EXPIRY,
                    reason="nobody decided in time",
                    decided_at=self._clock(),
                )
        return stored.decision

    def _dated(self, request: ApprovalRequest) -> ApprovalRequest:
        if self._expires_after_s is None or request.expires_at is not None:
            return request
        return replace(request, expires_at=self._clock() + timedelta(seconds=self._expires_after_s))

"""The right to work on one durable run, so that a second worker is refused before it changes anything.

A lease is for liveness and good errors alone. Safety never rests on it: each call is still claimed by itself.
"""

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._entries import CallId, Entry
from agent_adapter.exec._flights import linger
from agent_adapter.exec._ledger import LEASE, LOOK_AGAIN_S, Ledger

if TYPE_CHECKING:
    from agent_adapter.exec.checkpoints import CallRecord


class Lease:
    """One worker's lease on one run, held from `take` to `release`, or to the end of its process.

    Args:
        ledger: where it is kept.
        run: the store's run id of what is leased.
        name: the name under which the store lists that run.
        what: what is leased, as an error says it.
    """

    def __init__(self, ledger: Ledger, run: str, name: str, what: str) -> None:
        self._ledger = ledger
        self._what = what
        self._call = CallId(
            run=run, name=name, key=LEASE, call_id=LEASE, tool=LEASE, digest="", scope=""
        )
        self._entry: Entry | None = None
        self._record: CallRecord | None = None

    @property
    def held(self) -> bool:
        """Whether it is held here."""
        return self._entry is not None

    async def take(self, *, wait_s: float, over_live: bool = False) -> None:
        """Take the lease.

        Args:
            wait_s: how long a holder is waited for of whom nobody can say whether it lives.
            over_live: take it after that wait even from a live holder.

        Raises:
            CheckpointConflict: a live worker holds it; nothing was changed.
        """
        give_up = self._ledger.clock() + wait_s
        # Most often nobody has had it: it is claimed without a look.
        record: CallRecord | None = None
        while True:
            entry = self._ledger.fresh(self._call)
            mine, standing, held = await self._ledger.log.claim(self._call, entry, record)
            if held:
                self._entry, self._record = entry, mine
                linger(entry.nonce, partial(self._is, entry))
                return
            record = mine
            while (owner := self._ledger.owner_of(standing)) != "dead":
                if owner == "alive" and not over_live:
                    raise CheckpointConflict(
                        self._call.run,
                        f"{self._what} is worked on by another live worker; nothing was changed. Try again when it has ended",
                    )
                if self._ledger.clock() >= give_up:
                    break
                await asyncio.sleep(LOOK_AGAIN_S)
                found = await self._ledger.log.find(self._call.run, LEASE)
                if found is None:
                    record = None
                    break
                record, standing = found

    def _is(self, entry: Entry) -> bool:
        return self._entry is entry

    async def release(self) -> None:
        """Give it back; a lease that is not held, or that somebody took over, stays as it is."""
        entry, self._entry = self._entry, None
        if entry is not None:
            # What was deleted with its run needs nothing.
            with suppress(CheckpointConflict):
                await self._ledger.log.claim(self._call, entry.but(state="done"), self._record)

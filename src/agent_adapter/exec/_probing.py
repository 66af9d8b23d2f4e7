"""Probing: what a tool's own `reconcile` says of an attempt in doubt, asked once."""

import inspect
from functools import partial
from typing import Any, Literal

from agent_adapter._canonical import decode, encode, reachable_types
from agent_adapter._threads import run_in_thread
from agent_adapter.errors import CheckpointError
from agent_adapter.exec._decide import Owner
from agent_adapter.exec._entries import Entry
from agent_adapter.exec._questions import DidNotHappen, Happened, Unknown
from agent_adapter.exec.control import is_control_flow
from agent_adapter.policies import ToolPolicy


def word_of(probed: Any) -> Literal["happened", "did_not_happen", "unknown"] | None:
    """What a probe said, as a fact for `next_step`."""
    match probed:
        case None:
            return None
        case Happened():
            return "happened"
        case DidNotHappen():
            return "did_not_happen"
        case _:
            return "unknown"


async def ask_probe(
    policy: ToolPolicy,
    entry: Entry,
    key: str,
    *,
    owner: Owner,
    known: dict[tuple[str, str], Any] | None = None,
) -> Any:
    """What the tool's `reconcile` says of this attempt; what it said before, when that is `known`."""
    # It says nothing of another attempt, nor once the owner's state has changed.
    about = entry.nonce, owner
    if known is None:
        return await _probe(policy, entry, key)
    if about not in known:
        known[about] = await _probe(policy, entry, key)
    return known[about]


async def _probe(policy: ToolPolicy, entry: Entry, key: str) -> Any:
    """What the tool's `reconcile` says of this attempt.

    Its failure says nothing, nor does a value that cannot be stored; it is not asked about arguments that cannot be
    made again here.
    """
    reconcile: Any = policy.reconcile
    try:
        # A tool of ours says which classes its arguments may be.
        parameters = getattr(policy, "parameters", None)
        arguments = decode(entry.arguments, known=reachable_types(parameters))
        if inspect.iscoroutinefunction(reconcile):
            said = await reconcile(arguments, key)
        else:
            said = await run_in_thread(partial(reconcile, arguments, key))
            said = await said if inspect.isawaitable(said) else said
        if isinstance(said, Happened):
            decode(encode(said.value), known=reachable_types(getattr(policy, "returns", Any)))
    except Exception as exc:  # a probe that fails cannot tell; a person is asked instead
        if is_control_flow(exc) or isinstance(exc, CheckpointError):
            raise
        return Unknown()
    return said or Unknown()

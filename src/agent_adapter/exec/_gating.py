"""The gate before a framework's own tool: a call that needs approval waits for a person, and runs with what was approved."""

import inspect
from collections.abc import Callable
from typing import Any

from agent_adapter.context import RunContext
from agent_adapter.errors import ToolUsageError
from agent_adapter.exec._asked import Asked
from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._questions import Edited
from agent_adapter.policies import ToolPolicy

Fits = Callable[[dict[str, Any]], bool]

EDIT_DOES_NOT_FIT = "the tool does not accept the edited arguments; nothing was decided"


async def approved(
    attempt: Attempt,
    policy: ToolPolicy,
    ctx: RunContext,
    arguments: dict[str, Any],
    *,
    given: Any,
    fits: Fits,
) -> dict[str, Any] | None:
    """None when the body may run with these arguments; other arguments when a person edited them.

    Args:
        attempt: the right to run the call.
        policy: of the tool that takes it.
        ctx: the run, for a `confirm` function.
        arguments: as the model gave them.
        given: the same, encoded.
        fits: whether the tool accepts arguments.

    Raises:
        Asked: a person has to approve the call first; the question is stored.
        ToolUsageError: the policy's `confirm` says neither True nor False; and whatever that function raises.
    """
    if not attempt.gate.asked_before and not await needs_approval(policy, arguments, ctx):
        return None
    verdict = attempt.gate.verdict_on(given)
    if verdict is None and attempt.decided_again:
        # A person saw that this call may have taken effect and said: run it again. That is more than an approval.
        return None
    if verdict is None:
        raise Asked(await attempt.ask_approval(given))
    if not isinstance(verdict, Edited):
        return None
    changed = dict(verdict.arguments)
    if not fits(changed):
        raise Asked(await attempt.ask_approval(given), note=EDIT_DOES_NOT_FIT)
    return changed


async def needs_approval(policy: ToolPolicy, arguments: dict[str, Any], ctx: RunContext) -> bool:
    """Whether the policy wants a person to approve these arguments.

    Raises:
        ToolUsageError: its `confirm` says neither True nor False; and whatever that function raises.
    """
    if isinstance(policy.confirm, bool):
        return policy.confirm
    said: Any = policy.confirm(arguments, ctx)
    said = await said if inspect.isawaitable(said) else said
    if not isinstance(said, bool):
        raise ToolUsageError(f"confirm says True or False, not {said!r}; nothing ran")
    return said

"""What a call did to its `tool_context`, as a record keeps it, and the same done again when the call is replayed."""

import copy
import logging
from collections.abc import Mapping
from typing import Any

from google.adk.agents.context import Context

from agent_adapter.exec.integration import NotSealable
from agent_adapter_adk._values import Known, load_value, plain_value

logger = logging.getLogger(__name__)

# Scalars and lists of `EventActions` that a tool sets; what asks or parks is no effect.
FIELDS = (
    "transfer_to_agent",
    "transfer_reason",
    "escalate",
    "skip_summarization",
    "render_ui_widgets",
    "set_model_response",
)


class Effects:
    """The effects of one call, from when it is made to `plain`.

    A call of an agent has a context of its own; a node's context may hold what came before.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        actions = ctx.actions
        self._state = copy.deepcopy(actions.state_delta)
        self._artifacts = dict(actions.artifact_delta)
        self._fields = {name: copy.copy(getattr(actions, name)) for name in FIELDS}

    @property
    def state_keys(self) -> list[str]:
        """The keys of the session's state that the call wrote."""
        delta = self._ctx.actions.state_delta
        return [k for k in delta if k not in self._state or self._state[k] != delta[k]]

    def plain(self, known: Known) -> dict[str, Any]:
        """The effects as plain JSON.

        Raises:
            NotSealable: the call wrote something that has no exact stored form.
        """
        actions = self._ctx.actions
        state = {}
        for key in self.state_keys:
            try:
                state[key] = plain_value(actions.state_delta[key], known)
            except NotSealable as refused:
                if not key.startswith("temp:"):
                    raise NotSealable(
                        f"$.state[{key!r}]", refused.type_name, refused.reason
                    ) from None
                # ADK stores it nowhere either.
                logger.warning(
                    "state %r cannot be stored and will be missing in a replay: %s", key, refused
                )
        found: dict[str, Any] = {
            "state": state,
            "artifacts": {
                name: version
                for name, version in actions.artifact_delta.items()
                if self._artifacts.get(name) != version
            },
        }
        for name in FIELDS:
            value = getattr(actions, name)
            if value != self._fields[name]:
                found[name] = plain_value(value, known)
        return {name: value for name, value in found.items() if value not in ({}, None)}


def apply(
    ctx: Context, effects: Mapping[str, Any], known: Known, *, mine: Mapping[str, bool]
) -> None:
    """Do to the context what the recorded call did.

    Args:
        ctx: the context of the call that is replayed.
        effects: as `Effects.plain` gave them.
        known: the classes that may be built.
        mine: by state key, whether no call that finished later has written it: then the session sees it too.
    """
    actions = ctx.actions
    for key, stored in effects.get("state", {}).items():
        value = load_value(stored, known)
        if mine[key]:
            ctx.state[key] = value
        else:
            actions.state_delta[key] = value
    actions.artifact_delta.update(effects.get("artifacts", {}))
    for name in FIELDS:
        if name in effects:
            setattr(actions, name, load_value(effects[name], known))

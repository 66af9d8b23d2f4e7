"""Settings that every bridge has: checked values, and what a framework's own tool may do, said once by name."""

import logging
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from agent_adapter.errors import ConfigError
from agent_adapter.policies import ToolPolicy

logger = logging.getLogger("agent_adapter")

# What bridges act on today; anything else is refused rather than ignored.
BUILT = frozenset({"confirm", "idempotent", "read_only", "reconcile", "did_not_happen", "tags"})


def check_seconds(name: str, value: object) -> None:
    """Nothing, when the value is a finite number of seconds from 0 on.

    Raises:
        ConfigError: it is not; the message names the setting.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:  # type: ignore[operator, arg-type]  # is_number says so
        raise ConfigError(f"{name} is a finite number of seconds from 0 on, not {value!r}")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Nothing, when the value is one of these.

    Raises:
        ConfigError: it is not; the message names the setting and what it may be.
    """
    if value not in allowed:
        raise ConfigError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


def check_types(types: object) -> None:
    """Nothing, when these are classes.

    Raises:
        ConfigError: they are not.
    """
    if not isinstance(types, list | tuple) or not all(isinstance(kind, type) for kind in types):
        raise ConfigError(f"types is a list of classes, not {types!r}")


class Policies:
    """The policy of each tool of a framework.

    Args:
        policies: by tool name.
        framework: what the tools are called in messages, "LangGraph" for example.
        trust_annotations: believe a server's `readOnlyHint` and `idempotentHint`.
        gate: whether calls of tools with `confirm` wait for a person here.

    Raises:
        ConfigError: a value is not a `ToolPolicy`, or sets a field that bridges do not act on.
    """

    def __init__(
        self,
        policies: Mapping[str, ToolPolicy],
        *,
        framework: str,
        trust_annotations: bool,
        gate: bool = True,
    ) -> None:
        if not isinstance(policies, Mapping):
            raise ConfigError(
                f"policies is a mapping of tool names to policies, not {type(policies).__name__}"
            )
        for name, policy in policies.items():
            if not isinstance(policy, ToolPolicy):
                raise ConfigError(
                    f"policies[{name!r}] is a ToolPolicy, not {type(policy).__name__}"
                )
            for field in fields(policy):
                if field.name not in BUILT and getattr(policy, field.name) != field.default:
                    raise ConfigError(
                        f"policies[{name!r}].{field.name} is not supported for {framework} tools in this version; leave it out"
                    )
        # Somebody else asks then: what is left of a policy is what a record needs.
        self._policies = {
            name: policy if gate else replace(policy, confirm=False)
            for name, policy in policies.items()
        }
        self._trust = trust_annotations
        self.gate = gate
        self._met: set[str] = set()

    def check_name(self, tool: str) -> None:
        """Say so when a policy was probably meant for this tool and names none."""
        if tool in self._policies or tool in self._met:
            return
        self._met.add(tool)
        for name in get_close_matches(tool, self._policies.keys() - self._met, cutoff=0.7):
            logger.warning(
                "policies name %r, and there is a tool %r without a policy: is that the one?",
                name,
                tool,
            )

    def names(self, tool: str) -> bool:
        """Whether a policy was set for this tool."""
        return tool in self._policies

    @property
    def asking(self) -> set[str]:
        """The tools whose calls may have to wait for a person here."""
        return {name for name, policy in self._policies.items() if policy.confirm is not False}

    def of(self, name: str, hints: Mapping[str, Any] | None = None) -> ToolPolicy:
        """The policy under which calls of this tool run: the one that was set, else what its hints say, else careful.

        Args:
            name: the tool's name.
            hints: the annotations of an MCP server's tool.
        """
        if name in self._policies:
            return self._policies[name]
        hints = hints or {}
        if not self._trust or hints.get("destructiveHint") is True:
            return ToolPolicy()
        return ToolPolicy(
            read_only=hints.get("readOnlyHint") is True,
            idempotent=hints.get("idempotentHint") is True,
        )

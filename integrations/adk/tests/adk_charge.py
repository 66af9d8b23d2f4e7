"""A tool of this package that fails as told, in an agent whose model calls it as told."""

from typing import Any

from adk_kit import ScriptedModel, agent, ask

from agent_adapter import tool


def charging(oracle: Any, *failures: BaseException, **settings: Any) -> Any:
    """`charge(cents)` with the effect `charge:cents`; its first calls fail."""
    left = list(failures)

    @tool(**settings)
    async def charge(cents: int) -> dict[str, int]:
        """Charge the customer."""
        oracle.write(f"charge:{cents}")
        if left:
            raise left.pop(0)
        return {"paid": cents}

    return charge


def once(made: Any, **arguments: Any) -> Any:
    """An agent that calls `charge` once."""
    return agent(ScriptedModel([ask("charge", **(arguments or {"cents": 5}))]), made)

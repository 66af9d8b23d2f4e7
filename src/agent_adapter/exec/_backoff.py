"""Backoff: how long to wait before the next attempt. Pure."""

import math
import random
from dataclasses import dataclass, fields

from agent_adapter.errors import ConfigError, ToolUsageError


@dataclass(frozen=True)
class Backoff:
    """Delays that grow from attempt to attempt up to a maximum, each shortened by chance.

    Attributes:
        initial: seconds after the first attempt.
        multiplier: how many times longer each delay is than the one before.
        maximum: no delay is longer.
        jitter: the share of a delay that chance may take away, 0 to 1.

    Raises:
        ConfigError: a number is not finite or negative, `multiplier` is below 1, or `jitter` above 1.
    """

    initial: float = 0.5
    multiplier: float = 2.0
    maximum: float = 30.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
                raise ConfigError(f"{field.name} is a finite number from 0 on, not {value!r}")
        if self.multiplier < 1:
            raise ConfigError(f"multiplier is a number from 1 on, not {self.multiplier!r}")
        if self.jitter > 1:
            raise ConfigError(f"jitter is a number from 0 to 1, not {self.jitter!r}")

    def delay(self, attempt: int, rng: random.Random) -> float:
        """Seconds to wait after this attempt failed, counted from 1; equal for equally seeded `rng`.

        Raises:
            ToolUsageError: the attempt is below 1.
        """
        if attempt < 1:
            raise ToolUsageError(f"attempt is below 1: {attempt!r}")
        return self._longest(attempt) * (1 - self.jitter * rng.random())

    def _longest(self, attempt: int) -> float:
        try:
            grown = self.initial * float(self.multiplier) ** (attempt - 1)
        except OverflowError:
            grown = math.inf if self.initial else 0.0
        return min(self.maximum, grown)

"""Backoff: delays that grow, have an end, and are shortened by chance alone (items 15 and 16)."""

import random

import pytest

from agent_adapter import ConfigError, ToolUsageError
from agent_adapter.exec import Backoff


def rng(seed: int = 7) -> random.Random:
    return random.Random(seed)  # noqa: S311 - spreads retries


@pytest.mark.parametrize("attempt", [0, -1])
def test_there_is_no_attempt_below_one(attempt):
    """Item 15."""
    with pytest.raises(ToolUsageError, match="attempt is below 1"):
        Backoff().delay(attempt, rng())


def test_without_jitter_a_delay_grows_by_the_multiplier_up_to_the_maximum():
    """Item 16."""
    backoff = Backoff(initial=0.5, multiplier=2, maximum=3, jitter=0)
    assert [backoff.delay(attempt, rng()) for attempt in range(1, 6)] == [0.5, 1, 2, 3, 3]


@pytest.mark.parametrize("jitter", [0, 0.5, 1])
@pytest.mark.parametrize("attempt", [1, 2, 50, 10_000])
def test_a_delay_is_never_negative_and_never_above_the_maximum(attempt, jitter):
    """Item 16."""
    backoff, chance = Backoff(maximum=4.0, jitter=jitter), rng()
    longest = min(4.0, 0.5 * 2.0 ** min(attempt - 1, 50))
    for _ in range(200):
        assert longest * (1 - jitter) <= backoff.delay(attempt, chance) <= longest


def test_attempt_ten_thousand_does_not_overflow():
    """Item 16."""
    assert Backoff(jitter=0).delay(10_000, rng()) == 30.0
    assert Backoff(initial=0, jitter=0).delay(10_000, rng()) == 0.0
    assert Backoff(multiplier=10**300, jitter=0).delay(3, rng()) == 30.0


def test_equal_seeds_give_equal_delays_and_others_give_others():
    """Item 16."""
    first, second, other = rng(1), rng(1), rng(2)
    delays = [
        [Backoff().delay(n, chance) for n in range(1, 9)] for chance in (first, second, other)
    ]
    assert delays[0] == delays[1]
    assert delays[0] != delays[2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"initial": -1},
        {"initial": float("nan")},
        {"initial": True},
        {"multiplier": 0.5},
        {"multiplier": float("inf")},
        {"maximum": -0.1},
        {"maximum": "30"},
        {"jitter": 1.5},
        {"jitter": -0.5},
    ],
    ids=str,
)
def test_an_impossible_number_is_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Backoff(**wrong)

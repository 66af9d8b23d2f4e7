"""What counts as a number of seconds in settings and arguments."""

import math


def is_seconds(value: object) -> bool:
    """Whether this is None or a finite number above zero."""
    if value is None:
        return True
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value > 0
    )

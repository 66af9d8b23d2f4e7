"""Three tools with effects that must not happen twice; each effect is a line in a file that survives a kill."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = "effects.txt"
NAMES = ("charge", "mail", "book")


def tools(folder: Path, *, bank_answers: bool) -> list[Callable[..., Any]]:
    """The tools, with their effects in `folder`; while the bank does not answer, a charge takes effect and hangs."""

    def charge(customer: str, cents: int) -> str:
        """Charge the customer's card."""
        _take_effect(folder, "charge")
        while not bank_answers:
            time.sleep(1)
        return f"charged {customer} {cents} cents"

    def mail(to: str, text: str) -> str:
        """Send a mail."""
        _take_effect(folder, "mail")
        return f"mailed {to}: {text}"

    def book(seat: str) -> str:
        """Book a seat."""
        _take_effect(folder, "book")
        return f"booked {seat}"

    return [charge, mail, book]


def seen(folder: Path) -> list[str]:
    """The effects that took place, in order."""
    file = folder / FILE
    return file.read_text().split() if file.exists() else []


def _take_effect(folder: Path, name: str) -> None:
    with (folder / FILE).open("a") as file:
        file.write(f"{name}\n")
        file.flush()
        os.fsync(file.fileno())

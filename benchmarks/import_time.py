"""What `import agent_adapter` costs beside the pydantic that it needs, in fresh processes, interleaved.

    python benchmarks/import_time.py [--rounds 15] [--parts 12]

Goal: at most 1.3 x `from pydantic import BaseModel, TypeAdapter`. What a program that runs a loop loads in the end is
shown too. All sides run from a bytecode cache of their own, which the first round fills, and processor time is compared:
an import waits for nothing. Then the modules that take longest by themselves, without those that pydantic imports too.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping

SIDES = {
    "python": "pass",
    "pydantic": "from pydantic import BaseModel, TypeAdapter",
    "pydantic, one model made": (
        "from pydantic import BaseModel, TypeAdapter\nclass M(BaseModel):\n    a: int"
    ),
    "agent_adapter": "import agent_adapter",
    "a tool and the loop": "from agent_adapter import run_tool_loop, tool",
    "exec.checkpoints": "import agent_adapter.exec.checkpoints",
}
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|( +)(\S+)")


def fresh(code: str, environment: Mapping[str, str]) -> float:
    """Milliseconds of processor time of a new interpreter that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def parts(code: str, environment: Mapping[str, str]) -> dict[str, int]:
    """Microseconds that each module took by itself; of three runs the least."""
    command = [sys.executable, "-X", "importtime", "-c", code]
    least: dict[str, int] = {}
    for _ in range(3):
        told = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        for own, _, module in LINE.findall(told.stderr):
            least[module] = min(int(own), least.get(module, int(own)))
    return least


def owner(module: str, known: dict[str, int]) -> str:
    """Whose module it is; `known` is what pydantic alone imports."""
    root = module.partition(".")[0]
    if root == "agent_adapter":
        return "agent_adapter"
    return "needed by pydantic" if module in known else f"needed by us: {root}"


def measure(environment: Mapping[str, str], rounds: int, shown: int) -> None:
    """Measure the sides in turns, then show where one import goes."""
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for n in range(rounds + 1):
        for side, code in SIDES.items():
            took = fresh(code, environment)
            times[side].extend([took] if n else [])
    empty = statistics.median(times["python"])
    base = statistics.median(times["pydantic"])
    for side, all_of_it in times.items():
        took = statistics.median(all_of_it)
        bare = (took - empty) / (base - empty)
        print(
            f"{side:<26}{took:>6.0f} ms  {took / base:>5.2f} x pydantic  {bare:>5.2f} x without python's own start"
        )
    known, ours = (parts(SIDES[side], environment) for side in ("pydantic", "a tool and the loop"))
    shares: Counter[str] = Counter()
    for module, own in ours.items():
        shares[owner(module, known)] += own
    told = ", ".join(f"{name} {us / 1000:.1f} ms" for name, us in shares.most_common(8))
    print(f"\nby themselves: {told}")
    own_parts = {module: us for module, us in ours.items() if module not in known}
    for module, us in sorted(own_parts.items(), key=lambda part: -part[1])[:shown]:
        print(f"{us / 1000:>8.1f} ms  {module}")


def main() -> None:
    """Read the options, measure with bytecode of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--parts", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        measure(environment, options.rounds, options.parts)


if __name__ == "__main__":
    main()

"""``python -m program_fuzzer``: check programs until a number of them, or some minutes, are over."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from program_fuzzer.campaign import Effort, Tally, check_seed, small_script
from program_fuzzer.forms import FORMS
from program_fuzzer.report import keep

_EVERY = 10.0


def main() -> int:
    """Check programs; 1 when one fails."""
    os.environ.setdefault("ARCFLUX_PLAN", "0")
    os.environ.setdefault("ARCFLUX_KEEP_RUNS", "0")
    parser = argparse.ArgumentParser(prog="program_fuzzer", description=__doc__)
    parser.add_argument("--programs", type=int, default=3000, help="how many")
    parser.add_argument("--seed", type=int, default=None, help="the first one's; another each time without it")
    parser.add_argument("--minutes", type=float, default=60.0, help="the most")
    parser.add_argument("--compiled", type=float, default=0.25, help="the share of programs that are also compiled")
    parser.add_argument("--graphs", type=int, default=3, help="of each program")
    parser.add_argument("--ways", type=int, default=5, help="of each graph, besides debug")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="where scripts go")
    asked = parser.parse_args()
    first = asked.seed if asked.seed is not None else time.time_ns() // 1_000_000 % 1_000_000_000
    print(f"seeds from {first} on", flush=True)
    effort = Effort(asked.graphs, asked.ways, asked.compiled)
    total, begun, said = Tally(), time.monotonic(), 0.0
    for seed in range(first, first + asked.programs):
        if time.monotonic() - begun > 60 * asked.minutes or len(total.failures) >= asked.failures:
            break
        tally = check_seed(seed, effort)
        total.add(tally)
        for failure in tally.failures:
            print(f"seed {seed}: {failure.way}: {failure.said}", flush=True)
            text = small_script(failure)
            print(text, flush=True)
            print(f"kept in {keep(asked.folder, f'seed-{seed}', text)}", flush=True)
        if time.monotonic() - said > _EVERY:
            said = time.monotonic()
            print(f"{total}, {said - begun:.0f} s", flush=True)
    print(f"{total}, {time.monotonic() - begun:.0f} s")
    print(f"by shape: {dict(total.programs)}; {total.unclear} cases had no certain result")
    print(f"by form: {dict.fromkeys(FORMS, 0) | total.forms}")
    for way, runs in sorted(total.runs.items()):
        print(f"  {runs:6} {way}")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())

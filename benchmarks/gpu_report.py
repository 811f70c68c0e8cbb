"""What GPUs do here: the doctor's findings, the tests of tests/gpu on hardware, and times of programs; as one report.

    python benchmarks/gpu_report.py --out build/gpu-report.json

Each part runs whatever became of the others, and the report says so. Please send it to the project. In Numba's
simulator (NUMBA_ENABLE_CUDASIM=1) the same is done, with tiny graphs, to see that the report itself works; it is then
marked as simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = (("pagerank", {"tol": 1e-4}), ("bfs", {"source": None}), ("sssp", {"source": None}))


def tests(folder: Path) -> dict[str, Any]:
    """The tests of tests/gpu: how many passed, failed, were skipped; and what failed said."""
    line = [sys.executable, "-m", "pytest", str(folder), "-p", "no:cacheprovider", "-rf", "--tb=short"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)
    counted = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)}
    return {"exit_code": done.returncode, **counted, "output": done.stdout[-20_000:] if done.returncode else ""}


def times(scale: int, repeat: int) -> list[dict[str, Any]]:
    """Programs on a Kronecker graph, on cores and on the GPU: the best of some runs, and whether they agree."""
    import numpy as np

    import arcflux as af

    graph = af.load(f"kron:{scale},weights=1-255")
    source = int(np.argmax(graph.out_degrees))
    found = []
    for name, options in RUNS:
        given = {key: source if value is None else value for key, value in options.items()}
        row: dict[str, Any] = {"algorithm": name, "graph": f"kron:{scale}", "edges": graph.edges}
        results = {}
        for devices in ("cpu", "cuda:0"):
            made = [getattr(af, name)(graph, devices=devices, **given) for _ in range(repeat)]
            results[devices] = made[-1]
            row[f"{devices} seconds"] = min(result.seconds for result in made)
            row[f"{devices} compile seconds"] = made[0].compile_seconds
        field = next(iter(results["cpu"].values))
        row["same"] = bool(np.allclose(results["cpu"][field], results["cuda:0"][field], rtol=1e-6))
        found.append(row)
    return found


def guarded(work: Any, *given: Any) -> Any:
    """What comes of it, or what went wrong."""
    try:
        return work(*given)
    except Exception:
        return {"error": traceback.format_exc()[-4000:]}


def examined() -> dict[str, Any]:
    from arcflux import doctor

    found = doctor.examine(gpu=True)
    del found["cache"]
    return found


def report(scale: int, repeat: int, folder: Path) -> dict[str, Any]:
    """Everything."""
    from arcflux.gpu import api

    begun = time.time()
    found: dict[str, Any] = {"simulated": api.simulated(), "begun": begun, "doctor": guarded(examined)}
    if not found["doctor"].get("gpu", {}).get("usable"):
        return found | {"tests": None, "times": None}
    found |= {"tests": guarded(tests, folder), "times": guarded(times, scale, repeat)}
    return found | {"seconds": time.time() - begun}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu-report.json")
    parser.add_argument("--scale", type=int, help="of the Kronecker graph; 20, and 4 in the simulator")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tests", type=Path, default=ROOT / "tests" / "gpu")
    given = parser.parse_args()
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
    found = report(given.scale or (4 if simulated else 20), 1 if simulated else given.repeat, given.tests)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=2) + "\n")
    print(f"report: {given.out}")
    if found["tests"] is None:
        gpu = found["doctor"].get("gpu", {})
        said = gpu.get("problem") or "; ".join(each["error"] or "" for each in gpu.get("gpus", []))
        print(f"no GPU can be used: {said or found['doctor']}", file=sys.stderr)
        return 10
    same = isinstance(found["times"], list) and all(row["same"] for row in found["times"])
    print(f"tests: {found['tests'].get('passed', 0)} passed, {found['tests'].get('failed', 0)} failed; "
          f"times: {'all agree with cores' if same else 'not all agree with cores'}")  # fmt: skip
    return 0 if same and found["tests"].get("exit_code") == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

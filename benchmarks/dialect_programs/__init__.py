"""Six algorithms of the seeds, each in four forms: natively, and in the words of GAS, of Medusa (EMV) and of GX-Plug.

Each module has the programs Native, Gas, Emv and Msg, which give the same fields; FIELD is the one to compare.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

from arcflux.program import Program
from dialect_programs import components, hops, labels, paths, ranks, two_hop

__all__ = ["ALGORITHMS", "FORMS", "forms"]

ALGORITHMS: dict[str, ModuleType] = {
    "pagerank": ranks,
    "bfs": hops,
    "sssp, four sources": paths,
    "components": components,
    "label propagation": labels,
    "two-hop": two_hop,
}
FORMS = ("native", "gas", "emv", "msg")


def forms(name: str) -> dict[str, Program]:
    """The programs of an algorithm, by form; of one name, so that kernels of the same text are the same file."""
    module = ALGORITHMS[name]
    programs = {form: getattr(module, form.capitalize()) for form in FORMS}
    return {form: replace(program, name=module.__name__.rpartition(".")[2]) for form, program in programs.items()}

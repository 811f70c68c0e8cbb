"""Programs whose functions are valid one by one but not together: each is refused with a remedy."""

from __future__ import annotations

from arcflux.compile.check.checked import Checked, Reduction
from arcflux.compile.check.expressions import UNCHANGING
from arcflux.compile.check.tuples import TUPLES
from arcflux.program import Program

__all__ = ["IN_ANY_ORDER", "passes_by", "refuse_around", "refuse_disorder", "refuse_init_that_passes", "refuse_norm",
           "refuse_unsent"]  # fmt: skip

# Idempotent reductions that give the same result in any order of messages.
IN_ANY_ORDER = ("min", "max", "or", "and", *TUPLES)


def refuse_unsent(program: Program, functions: dict[str, Checked]) -> None:
    """Refuse mail that no function sends."""
    for name in program.mails:
        if not any(name in each.sends for each in functions.values()):
            raise program.refusal(
                program.lines[name], f"nobody sends the mail {name}",
                f"write af.send(to, {name}=...) in start, receive or update, or leave it out",
            )  # fmt: skip


def refuse_around(program: Program, functions: dict[str, Checked]) -> None:
    """Refuse an `around` that writes nothing into v."""
    line = program.functions["around"].line
    if not (functions["around"].writes or functions["around"].sends):
        raise program.refusal(line, "around writes nothing into v", "write for example v.x = max(u.x for u in edges)")
    if "priority" in functions:
        raise program.refusal(
            program.functions["priority"].line, "around sees all neighbours at once, and priority takes them in turn",
            "leave priority out, or write compute",
        )  # fmt: skip


def refuse_disorder(program: Program, functions: dict[str, Checked]) -> None:
    """A program with priority changes vertices in place, in no fixed order; refuse what could depend on that order."""
    without = "or leave priority out: the result is the same, only later"
    for reduction in functions["compute"].reductions.values():
        _refuse_halves(program, functions, reduction, without)
    for name, reduction in functions["compute"].reductions.items():
        if reduction.operation not in IN_ANY_ORDER:
            raise program.refusal(
                reduction.line,
                f"with priority, a message may come twice and in any order, and {reduction.operation} would show it",
                f"reduce {name} by min, max, |= or &=, {without}",
            )
    for name in ("init", "update"):
        if name in functions and functions[name].writes:
            raise program.refusal(
                program.functions[name].line,
                f"with priority, vertices change by messages alone, and {name} writes v.{min(functions[name].writes)}",
                f"write in start and compute only, {without}",
            )
    if program.totals or "stop" in functions:
        what = "stop" if "stop" in functions else f"the total {min(program.totals)}"
        line = program.functions["stop"].line if "stop" in functions else program.lines[min(program.totals)]
        raise program.refusal(
            line, f"with priority there are no supersteps, and {what} is of one", f"do without, {without}"
        )
    for name, checked in functions.items():
        reads = {n for n in checked.reads if n == "step" or (name == "compute" and passes_by(n, program))}
        if reads or name == "residual":
            what = (
                "residual is measured"
                if name == "residual"
                else f"{name} knows " + ("step" if "step" in reads else "old")
            )
            raise program.refusal(
                program.functions[name].line,
                f"with priority there are no supersteps after which {what}",
                f"do without, {without}",
            )


def _refuse_halves(program: Program, functions: dict[str, Checked], reduction: Reduction, without: str) -> None:
    """Refuse a tuple of which half might be read before the other half changes, and reductions that start anew."""
    if any(name.startswith("1") for name in reduction.group):
        raise program.refusal(
            reduction.line, "with priority there are no supersteps of which a message could be the first or the last",
            f"reduce a tuple by min or max, {without}",
        )  # fmt: skip
    for name, checked in functions.items():
        seen = {f"{owner}_{each}" for owner in "uv" for each in reduction.group} & checked.reads
        if name != "start" and len(seen) > 1:
            raise program.refusal(
                program.functions[name].line,
                f"with priority, vertices change at any time, and {name} could see half of a change of "
                + " and ".join(f"{each[0]}.{each[2:]}" for each in sorted(seen)),
                f"read one of them, {without}",
            )


def passes_by(name: str, program: Program) -> bool:
    """Whether a name that compute reads has another value in every superstep."""
    return name == "step" or (name.startswith("o_") and name[2:] not in (*UNCHANGING, *program.memberships))


def refuse_init_that_passes(program: Program, functions: dict[str, Checked]) -> None:
    """Refuse an init whose value for a resting vertex depends on the superstep."""
    of_init = functions["init"].reads if "init" in functions else set()
    passing = sorted({"step", *(f"g_{name}" for name in program.totals)} & of_init)
    if "sparse" in program.promises and passing:
        said = passing[0].replace("g_", "g.")
        raise program.refusal(
            program.functions["init"].line,
            f"with sparse, a vertex rests with what init gave it until a message comes, and {said} would have gone on",
            f"read {said} in compute or update, or leave sparse out: then every vertex sends in every superstep",
        )


def refuse_norm(program: Program, functions: dict[str, Checked]) -> None:
    """Refuse a norm without a residual."""
    if program.norm != "sum" and "residual" not in functions:
        raise program.refusal(
            program.lines.get("norm", 0), f"norm is {program.norm!r}, and there is no residual",
            "add `def residual(v, old): ...`, or leave norm out",
        )  # fmt: skip

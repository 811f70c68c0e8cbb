"""What a program with phases may not say: each refusal names the line, the reason and what to write instead."""

from __future__ import annotations

import pytest

import arcflux as af
from arcflux.errors import ProgramError, UsageError


def refused(make, said, remedy):
    with pytest.raises(ProgramError) as caught:
        make()
    text = str(caught.value)
    assert said in text
    assert remedy in text
    assert caught.value.line > 0
    return text


def test_iteration_calls_a_phase_that_is_not_there():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class scale:
                def update(v):
                    return False

            def iteration(run, g, p):
                run.scales()
                return False

    text = refused(make, "there is no phase scales", "did you mean scale?")
    assert "run.scales()" in text


def test_compute_outside_of_the_phases():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class scale:
                def update(v):
                    return False

            def compute(v, u):
                v.x += u.x

            def iteration(run):
                run.scale()
                return False

    refused(make, "compute stands outside of the phases", "move it into a phase, such as scale")


def test_two_phases_of_one_name():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class scale:
                def update(v):
                    return False

            @af.phase(edges=None)
            class scale:  # noqa: F811
                def update(v):
                    return True

            def iteration(run):
                run.scale()
                return False

    refused(make, "two phases are called scale", "a name of its own")


def test_a_phase_on_no_edges_without_update():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                def residual(v, old):
                    return abs(v.x - old.x)

            def iteration(run):
                run.spread()
                return False

    refused(make, "the phase spread is on no edges, and has no update", "def update(v)")


def test_a_promise_outside_of_the_phases():
    def make():
        @af.program
        class Wrong:
            sparse = True
            x: af.f64

            @af.phase
            class spread:
                def compute(v, u):
                    v.x += u.x

            def iteration(run):
                run.spread()
                return False

    refused(make, "the promise sparse stands outside of the phases", "write it into the phases that keep it")


def test_phases_are_inherited_and_an_update_may_be_left_out():
    @af.program
    class Least:
        x: af.i64

        def start(v):
            v.x = 10 - v.number
            return True

        @af.phase
        class spread:
            def compute(v, u):
                v.x = min(v.x, u.x)

        def iteration(run):
            run.spread(until="quiet")
            return False

    @af.program
    class Less(Least):
        @af.phase(edges=None)
        class lower:
            def update(v):
                v.x = v.x - 1
                return True

        def iteration(run):
            run.spread(until="quiet")
            run.lower()
            return run.iterations < 2

    assert af.run(Least, "path:4")["x"].tolist() == [7] * 4
    assert af.run(Less, "path:4")["x"].tolist() == [5] * 4
    assert list(Less.phases) == ["spread", "lower"]


def test_a_phase_on_edges_without_compute():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase
            class spread:
                def update(v):
                    return False

            def iteration(run):
                run.spread()
                return False

    refused(make, "the phase spread has no compute", "@af.phase(edges=None)")


def test_a_phase_on_no_edges_with_compute():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                def compute(v, u):
                    v.x += u.x

                def update(v):
                    return False

            def iteration(run):
                run.spread()
                return False

    refused(make, "the phase spread is on no edges, and has compute", "leave edges=None out")


def test_degrees_on_both_directions():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges="both")
            class spread:
                def compute(v, u):
                    v.x += u.x / u.out_degree

                def update(v):
                    return False

            def iteration(run):
                run.spread()
                return False

    refused(make, "reads out_degree", "v.degree = v.out_degree in the program's start")


def test_functions_that_no_phase_has():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase
            class spread:
                def compute(v, u):
                    v.x = min(v.x, u.x)

                def update(v, old):
                    return v.x < old.x

                def priority(v):
                    return v.x

            def iteration(run):
                run.spread()
                return False

    refused(make, "the phase spread has a function priority", "a phase has start, init, along, compute, around")


def test_fields_in_a_phase():
    def make():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                y: af.f64

                def update(v):
                    return False

            def iteration(run):
                run.spread()
                return False

    refused(make, "only promises and functions belong in the phase spread", "declare fields and parameters in the")


def test_phases_without_iteration_and_iteration_without_phases():
    def without():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                def update(v):
                    return False

    def alone():
        @af.program
        class Wrong:
            x: af.f64

            def start(v):
                return True

            def iteration(run):
                return False

    refused(without, "has phases, and no function that calls them", "def iteration(run, g, p): run.spread()")
    refused(alone, "iteration calls phases, and the program has none", "@af.phase above a class")


def test_iteration_that_cannot_answer_or_call():
    def silent():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                def update(v):
                    return False

            def iteration(run):
                run.spread()

    def deaf():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                def update(v):
                    return False

            def iteration(g):
                return False

    def assigning():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class spread:
                def update(v):
                    return False

            def iteration(run):
                run.changed = 3
                return False

    def setting():
        @af.program
        class Wrong:
            x: af.f64
            rounds: int = 3

            @af.phase(edges=None)
            class spread:
                def update(v):
                    return False

            def iteration(run, p):
                p.rounds = 5
                return False

    def unknown():
        @af.program
        class Wrong:
            x: af.f64
            rounds: int = 3

            @af.phase(edges=None)
            class spread:
                def update(v):
                    return False

            def iteration(run, p):
                return run.iterations < p.round

    refused(setting, "iteration writes p.rounds", "use a local name")
    refused(unknown, "p has no 'round'", "did you mean rounds?")
    refused(silent, "iteration returns nothing", "return True to be called again, False to end")
    refused(deaf, "iteration does not take run", "def iteration(run, g, p)")
    refused(assigning, "run.changed is assigned", "use a local name")


def test_names_that_are_taken():
    def field():
        @af.program
        class Wrong:
            x: af.f64

            @af.phase(edges=None)
            class changed:
                def update(v):
                    return False

            def iteration(run):
                run.changed()
                return False

    refused(field, "has the name of run.changed", "choose another name for the phase")


def test_what_kernels_cannot_do_is_refused_with_its_line_in_the_phase():
    @af.program
    class Wrong:
        x: af.f64

        @af.phase(edges=None)
        class spread:
            def update(v):
                v.x = hash("there")
                return False

        def iteration(run):
            run.spread()
            return False

    with pytest.raises(ProgramError) as caught:
        af.run(Wrong, "path:3")
    assert 'v.x = hash("there")' in str(caught.value)
    assert "Wrong.spread" in str(caught.value)


def test_edges_that_there_are_not():
    with pytest.raises(UsageError, match="did you mean against"):
        af.phase(edges="againts")
    with pytest.raises(UsageError, match="expected: a class"):
        af.phase(3)


def test_a_program_knows_its_phases_and_other_parameters_reach_them():
    @af.program
    class Scaled:
        by: float = 2.0
        x: af.f64

        @af.phase(edges=None)
        class scale:
            def update(v, p):
                v.x = v.x * p.by
                return True

        def iteration(run):
            run.scale()
            return run.iterations < 2

    assert "phases scale" in repr(Scaled)
    given = {"x": [1.0, 2.0, 3.0]}
    assert af.run(Scaled, "path:3", given=given)["x"].tolist() == [4.0, 8.0, 12.0]
    assert af.run(Scaled(by=3.0), "path:3", given=given)["x"].tolist() == [9.0, 18.0, 27.0]
    narrow = af.run(Scaled.retyped(x=af.f32), "path:3", given=given)
    assert narrow["x"].dtype.name == "float32"
    assert narrow["x"].tolist() == [4.0, 8.0, 12.0]


@af.program
class Dripping:
    """A phase that is monotone, and one that is not: its values depend on who changed first."""

    x: af.f64
    y: af.f64

    def start(v):
        v.x = 1.0 * v.number
        v.y = 1.0 * (v.number % 3)
        return True

    @af.phase
    class least:
        monotone = True

        def compute(v, u):
            v.x = min(v.x, u.x)

    @af.phase
    class halves:
        monotone = True

        def init(v, old):
            v.y = 0.25 * old.y

        def compute(v, u):
            v.y += 0.25 * u.y

        def update(v, old, step):
            return step < 4

    def iteration(run, g):
        run.least(until="quiet")
        if g.vertices > 5:
            run.halves(until="quiet")
        return False


def test_debug_checks_that_phases_are_monotone():
    assert af.run(Dripping, "path:5", debug=True)["x"].tolist() == [0.0] * 5
    with pytest.raises(ProgramError, match=r"monotone is promised, but with fresher values of u, y of vertex"):
        af.run(Dripping, "path:7", debug=True)


@af.program
class CountedDown:
    """A monotone phase that contributes to a total: what is checked beside it contributes nothing."""

    x: af.i64
    sum: af.total(af.i64)

    def start(v):
        v.x = v.number
        return True

    @af.phase
    class least:
        monotone = True

        def compute(v, u):
            v.x = min(v.x, u.x)

        def update(v, old, g):
            g.sum += v.x
            return v.x < old.x

    def iteration(run, g):
        run.least(until="quiet")
        return False


def test_what_is_checked_beside_a_run_leaves_its_totals():
    assert af.run(CountedDown, "path:5", debug=True).totals == af.run(CountedDown, "path:5").totals

"""In a notebook: a real kernel runs cells that define programs, show results, fail, and are interrupted."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

PROGRAM = """
@af.program
class Largest:
    "The largest number that reaches a vertex."
    add: int = {add}
    x: af.i64

    def start(v, p):
        v.x = v.number + p.add
        return True

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v, old):
        return v.x != old.x
"""
RUN = "\naf.run(Largest, g)['x'].tolist()"


class Kernel:
    """A kernel that runs one cell after another."""

    def __init__(self, folder: Path) -> None:
        self.book = nbformat.v4.new_notebook()
        self.client = nbclient.NotebookClient(
            self.book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}},
            allow_errors=True,
        )  # fmt: skip

    def run(self, source: str) -> list[Any]:
        """The outputs of a cell, without the notes about what is compiled, once for each machine."""
        cell = nbformat.v4.new_code_cell(source)
        self.book.cells.append(cell)
        self.client.execute_cell(cell, len(self.book.cells) - 1)
        return [output for output in cell.outputs if not output.get("text", "").startswith("arcflux: compiling ")]

    def shown(self, source: str) -> dict[str, str]:
        """What a cell shows of its last expression, by mime type; anything else that it printed is a failure."""
        outputs = self.run(source)
        assert [output.output_type for output in outputs] == ["execute_result"], outputs
        return dict(outputs[0].data)

    def said(self, source: str) -> str:
        """What a cell shows of its last expression, as text."""
        return self.shown(source)["text/plain"]

    def failure(self, source: str) -> tuple[str, str]:
        """The class and the message of the error that a cell ends with."""
        error = next(output for output in self.run(source) if output.output_type == "error")
        return error.ename, error.evalue


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    # Its own interpreter, whatever kernels a user has installed.
    folder = tmp_path_factory.mktemp("notebook")
    kernels = folder / "share" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    command = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (kernels / "kernel.json").write_text(f'{{"argv": {command}, "display_name": "Python", "language": "python"}}')
    patch = pytest.MonkeyPatch()
    patch.setenv("JUPYTER_PATH", str(folder / "share"))
    patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    patch.setenv("IPYTHONDIR", str(folder / "ipython"))
    made = Kernel(folder)
    with made.client.setup_kernel():
        assert made.run("import arcflux as af\ng = af.load('path:4')") == []
        yield made
    patch.undo()


def test_a_program_in_a_cell(kernel: Kernel) -> None:
    assert kernel.said(PROGRAM.format(add=0) + RUN) == "[3, 3, 3, 3]"


def test_a_cell_defined_again_and_one_run_twice(kernel: Kernel) -> None:
    for add in (0, 10, 10, 0):
        assert kernel.said(PROGRAM.format(add=add) + RUN) == str([3 + add] * 4)


def test_two_programs_of_one_name_in_a_cell(kernel: Kernel) -> None:
    both = PROGRAM.format(add=1) + "\nfirst = Largest\n" + PROGRAM.format(add=5)
    assert kernel.said(both + "\n[af.run(one, g)['x'].tolist() for one in (first, Largest)]") == (
        "[[4, 4, 4, 4], [8, 8, 8, 8]]"
    )


def test_in_a_function_with_other_spellings_and_with_await(kernel: Kernel) -> None:
    indented = PROGRAM.format(add=2).replace("@af.program", "@made").replace("\n", "\n    ")
    cell = "from arcflux import program as made\nimport asyncio\nawait asyncio.sleep(0)\ndef f():" + indented
    assert kernel.said(cell + "\n    return Largest\naf.run(f(), g)['x'].tolist()") == "[5, 5, 5, 5]"


def test_interrupt_raises_in_the_cell_with_the_partial_result(kernel: Kernel) -> None:
    cell = """
import os, signal
from arcflux import trace
pressed = []
def press(event):  # in the middle of the run, however fast it is
    if not pressed and getattr(event, "unit", "") == "supersteps" and 1 < event.done < 1999999:
        pressed.append(True)
        os.kill(os.getpid(), signal.SIGINT)
long = af.load("path:2000000")
with trace.listen(press):
    try:
        af.bfs(long, 0)
    except KeyboardInterrupt as error:
        partial = error.result
print(partial.converged, 1 < partial.supersteps < 1999999)
"""
    outputs = kernel.run(cell)
    assert [output.get("text") for output in outputs] == ["False True\n"], outputs
    assert kernel.failure("pressed.clear()\nwith trace.listen(press):\n    af.bfs(long, 0)")[0] == "KeyboardInterrupt"
    assert kernel.said("af.bfs(g, 0)['level'].tolist()") == "[0, 1, 2, 3]"


@pytest.mark.parametrize("magic", ["%%time", "%%capture said"])
def test_under_a_magic(kernel: Kernel, magic: str) -> None:
    kernel.run(f"{magic}\n{PROGRAM.format(add=3)}\nfound = af.run(Largest, g)['x'].tolist()")
    assert kernel.said("found") == "[6, 6, 6, 6]"
    kernel.run("del found")


def test_debug_prints_in_a_cell(kernel: Kernel) -> None:
    printing = '        print("along", u.number, v.number)\n'
    cell = PROGRAM.format(add=0).replace("        v.x = max", printing + "        v.x = max")
    outputs = kernel.run(cell + "\naf.run(Largest, g, debug=True)['x'].tolist()")
    assert [output.output_type for output in outputs] == ["stream", "execute_result"]
    assert "along 1 0\n" in outputs[0].text


def test_a_refusal_names_the_cell_and_the_line(kernel: Kernel) -> None:
    kind, text = kernel.failure("1 + 1\n" + PROGRAM.format(add=0).replace("v.x = max(v.x, u.x)", "v.x = u.x") + RUN)
    assert kind == "ProgramError"
    assert re.search(r"Cell In\[\d+\]:14: Largest: compute may only reduce into v", text), text
    assert "    v.x = u.x\n" in text


@pytest.mark.parametrize(
    "expression",
    [
        "g", "Largest", "af.algorithms.PageRank", "af.pagerank(g)", "af.bfs(g, 0)", "af.bfs(g, 0).history",
        "af.bfs(g, 0).validate()", "af.plan('pagerank', 'kron:20', on='dgx1')", "af.partition(g, 2)",
        "af.bfs(g, 0).plan", "af.bfs(g, 0).explain()", "af.estimate('bfs', g, on='dgx1')", "af.bfs(g, 0).history[0]",
        "af.algorithms.BFS.functions", "af.devices.CPU(1)",
    ],
)  # fmt: skip
def test_what_a_cell_shows_is_short(kernel: Kernel, expression: str) -> None:
    kernel.run(PROGRAM.format(add=0))
    text = kernel.said(expression)
    assert len(text) < 2500, text
    assert text.count("\n") < 30, text
    assert " object at 0x" not in text


def test_progress_is_no_garbage(kernel: Kernel) -> None:
    kernel.run("import sys\nsys.modules['arcflux.progress']._PATIENCE = 0")  # as if all took long
    outputs = kernel.run("ranks = af.pagerank(af.load('kron:14'), max_iter=200, tol=1e-12, progress=True)")
    kernel.run("sys.modules['arcflux.progress']._PATIENCE = 1")
    text = "".join(output.get("text", "") + str(output.get("data", "")) for output in outputs)
    assert "PageRank" not in text, text  # what was shown is taken away at the end
    for garbage in ("\x1b", "\\x1b", "\r", "ipywidgets", "Warning"):
        assert garbage not in text, text

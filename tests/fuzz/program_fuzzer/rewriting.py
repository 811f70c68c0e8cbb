"""Forms that are written into a program after it was drawn: what it says then is another program, for all to run.

So the programs that seeds gave before stay as they were, and every form meets every shape of programs.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from program_fuzzer.writing import ProgramSpec

__all__ = ["with_more_forms"]

# What a function may ask for besides what it has.
_ARGUMENTS = ("p", "g", "edge", "step")
_OLD = ("init", "receive", "update")


def with_more_forms(draw: random.Random, spec: ProgramSpec) -> ProgramSpec:
    """The program with some of the forms that it can take."""
    for form in _FORMS:
        if draw.random() < (0.9 if form is _given else 0.4):  # there are few fields of edges
            text = _Text(draw, spec)
            form(text)
            spec = text.spec()
    return _inherited(draw, spec) if draw.random() < 0.15 else spec


@dataclass
class _Text:
    """A program as a tree."""

    draw: random.Random
    before: ProgramSpec

    def __post_init__(self) -> None:
        self.module = ast.parse(self.before.source)
        self.cls = next(node for node in self.module.body if isinstance(node, ast.ClassDef))
        self.parameters, self.given = dict(self.before.parameters), dict(self.before.given)
        self.some = self.before.some
        self.changed = False

    def spec(self) -> ProgramSpec:
        """The program as it has become."""
        if not self.changed:
            return replace(self.before, given=self.given, some=self.some)
        for function in self.functions():
            _asking(function)
        text = ast.unparse(ast.fix_missing_locations(self.module)) + "\n"
        return replace(self.before, source=text, parameters=self.parameters, given=self.given, some=self.some)

    def functions(self, *names: str) -> list[ast.FunctionDef]:
        """Functions of the program and its phases, of any name or of some."""
        inner = [n for n in ast.walk(self.cls) if isinstance(n, ast.FunctionDef) and n.name != "iteration"]
        return [n for n in inner if not names or n.name in names]

    def declare(self, line: str) -> None:
        """Another line of the class, before the others."""
        self.cls.body[:0] = ast.parse(line).body
        self.changed = True

    def replace(self, choose: Callable[[ast.AST], ast.AST | None], *names: str, chance: float = 0.5) -> None:
        """Replace expressions of functions by what is chosen for them."""
        for function in self.functions(*names):
            replacing = _Replacing(self.draw, choose, chance)
            function.body = [replacing.visit(node) for node in function.body]
            self.changed |= replacing.changed

    def replace_text(self, pattern: str, by: str | Callable[[re.Match[str]], str]) -> None:
        """Replace what matches a pattern in the text."""
        text = re.sub(pattern, by, ast.unparse(self.module))
        changed = text != ast.unparse(self.module)
        self.module = ast.parse(text)
        self.cls = next(node for node in self.module.body if isinstance(node, ast.ClassDef))
        self.changed |= changed


class _Replacing(ast.NodeTransformer):
    """Replaces expressions, but none of which an index is made."""

    def __init__(self, draw: random.Random, choose: Callable[[ast.AST], ast.AST | None], chance: float) -> None:
        self.draw, self.choose, self.chance, self.changed = draw, choose, chance, False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return node

    def visit(self, node: ast.AST) -> Any:
        node = super().visit(node)
        other = self.choose(node)
        if other is None or self.draw.random() > self.chance:
            return node
        self.changed = True
        return other


def _asking(function: ast.FunctionDef) -> None:
    """Let a function ask for what it mentions."""
    names = {n.id for node in function.body for n in ast.walk(node) if isinstance(n, ast.Name)}
    own = {argument.arg for argument in function.args.args}
    bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known = (*_ARGUMENTS, "u") if function.name == "along" else _ARGUMENTS
    known = (*known, "old") if function.name in _OLD else known
    function.args.args += [ast.arg(name) for name in known if name in names - own - bound]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


# --- expressions


def _rounded(text: _Text) -> None:
    """Other ways to round a float; what is drawn at random stays below its bound."""
    ways = ["round", "math.trunc", "math.floor"]
    text.replace_text(r"math\.floor\((?!af\.random)", lambda found: f"{text.draw.choice(ways)}(")


def _divided(text: _Text) -> None:
    def choose(node: ast.AST) -> ast.AST | None:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv | ast.Mod):
            return None
        place = 0 if isinstance(node.op, ast.FloorDiv) else 1
        return _expression(f"divmod({ast.unparse(node.left)}, {ast.unparse(node.right)})[{place}]")

    text.replace(choose, chance=0.3)


def _tabled(text: _Text) -> None:
    """Numbers that are compared with, as elements of arrays and matrices."""
    known: dict[str, list[Any]] = {"i64": [], "f64": []}

    def element(node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, float) or abs(node.value) > 1 << 40:
            return node
        kind = "i64" if type(node.value) is int else "f64"
        if len(known[kind]) == 4 or text.draw.random() < 0.5:
            return node
        known[kind].append(node.value)
        k = len(known[kind]) - 1
        return _expression(f"p.row{kind}[{k}]" if kind == "i64" else f"p.row{kind}[{k // 2}, {k % 2}]")

    def choose(node: ast.AST) -> ast.AST | None:
        if not isinstance(node, ast.Compare):
            return None
        return ast.Compare(node.left, node.ops, [element(one) for one in node.comparators])

    text.replace(choose, chance=1.0)
    whole, real = known["i64"], (known["f64"] + [0.5, 1.0, 2.0, 4.0])[:4]
    if whole:
        text.declare(f"rowi64: af.i64[{len(whole)}] = {tuple(whole)!r}")
        if text.draw.random() < 0.3:
            text.parameters["rowi64"] = tuple(text.draw.choice([0, 1, 3]) for _ in whole)
    if known["f64"]:
        text.declare(f"rowf64: af.f64[2, 2] = (({real[0]!r}, {real[1]!r}), ({real[2]!r}, {real[3]!r}))")


def _chosen(text: _Text) -> None:
    """Sets of vertices instead of comparisons of their numbers."""

    def choose(node: ast.AST) -> ast.AST | None:
        found = (
            re.match(r"(v|u|old)\.number (%.*|==|<|!=)", ast.unparse(node)) if isinstance(node, ast.Compare) else None
        )
        return _expression(f"{found[1]} {text.draw.choice(['in', 'in', 'not in'])} p.some") if found else None

    text.replace(choose, chance=0.7)
    if text.changed:
        text.declare("some: af.vertices")
        text.parameters["some"] = sorted(text.draw.sample(range(10), text.draw.randint(0, 6)))


def _random_of_others(text: _Text) -> None:
    """Random numbers of edges, and of whole numbers."""

    def of(word: str) -> Callable[[ast.AST], ast.AST | None]:
        def choose(node: ast.AST) -> ast.AST | None:
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "af.random":
                first = ast.unparse(node.args[0])
                other = word or text.draw.choice([f"{first}.number", f"{first}.number * 3 - 7", "5"])
                return ast.Call(node.func, [_expression(other), *node.args[1:]], node.keywords)
            return None

        return choose

    text.replace(of("edge"), "compute", "along")
    text.replace(of(""), "start", "init", "update", "wants")


def _out_edges(text: _Text) -> None:
    """Columns of the edge along which mail goes."""
    least = text.draw.randint(0, 8)
    text.replace_text(
        r"if v\.out_degree > 0(.*):\n( +)(.*af\.send\(af\.neighbour\(v, (.*) % v\.out_degree\), m\d)",
        lambda found: (
            f"if v.out_degree > 0 and af.out_edge(v, {found[4]} % v.out_degree).weight >= {least}{found[1]}:\n"
            f"{found[2]}{found[3]}"
        ),
    )


def _sent_together(text: _Text) -> None:
    """Another mail beside the one that is sent."""
    mails = re.findall(r"    (m\d): af\.mail\((.*)\)\n", text.before.source)
    nothing = {"flag": "False", "f32": "0.0", "f64": "0.0"}

    def choose(node: ast.AST) -> ast.AST | None:
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "af.send":
            return None
        name, parts = text.draw.choice(mails)
        if name in [keyword.arg for keyword in node.keywords]:
            return None
        values = [nothing.get(kind, "0") for kind in re.findall(r"af\.(\w+)", parts)]
        record = f"({', '.join(values)},)" if "=" in parts else values[0]
        return ast.Call(node.func, node.args, [*node.keywords, ast.keyword(name, _expression(record))])

    if len(mails) > 1:
        text.replace(choose, chance=0.5)


def _compared_as_floats(text: _Text) -> None:
    """Whole numbers beside floats, which are floats, too, then: also those that no float is."""

    def choose(node: ast.AST) -> ast.AST | None:
        if not isinstance(node, ast.Compare) or len(node.ops) > 1 or isinstance(node.ops[0], ast.In | ast.NotIn):
            return None
        return ast.Compare(node.left, node.ops, [_expression(f"float({ast.unparse(node.comparators[0])})")])

    text.replace(choose, chance=0.15)


def _of_old(text: _Text) -> None:
    """What receive reads of v, as it was before."""
    fields = set(re.findall(r"    ([xy]\d): af\.", text.before.source))

    def choose(node: ast.AST) -> ast.AST | None:
        read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in fields
        return _expression(f"old.{node.attr}") if read and ast.unparse(node.value) == "v" else None  # type: ignore[attr-defined]

    text.replace(choose, "receive", chance=0.4)


# --- statements and functions


def _strided(text: _Text) -> None:
    """Loops from one number to another, by steps, and down."""
    ways = ["range(1, {})", "range(1, {}, 2)", "range({}, -1, -2)", "range(-2, {}, 3)"]
    text.replace_text(r"\brange\((\(?[^()]*\)?[^()]* % 6)\)", lambda found: text.draw.choice(ways).format(found[1]))


def _else_if(text: _Text) -> None:
    """Another test where the first one failed, with the same statements."""
    for function in text.functions("start", "update", "compute", "init", "along", "around", "receive"):
        for node in [n for n in ast.walk(function) if isinstance(n, ast.If) and not n.orelse]:
            if text.draw.random() < 0.3:
                owner = "u" if function.name in ("compute", "along") and "u" in ast.unparse(function.args) else "v"
                test = _expression(f"{owner}.number % 3 == {text.draw.randint(0, 2)}")
                node.orelse = [ast.If(test, copy.deepcopy(node.body), [])]
                function.args.args += [ast.arg("v")] if owner == "v" and "v" not in ast.unparse(function.args) else []
                text.changed = True


def _whole_vectors(text: _Text) -> None:
    """Arithmetic of whole vectors, a copy of one, and the product of two."""
    vectors = re.findall(r"    ([xy]\d): af\.([iuf]\d+)\[.*\]\n", text.before.source)
    if not vectors or text.before.shape in ("monotone", "priority", "around sparse"):
        return
    for function in text.functions("update"):
        name, kind = text.draw.choice(vectors)
        half = "* 0.5" if kind[0] == "f" else "// 2"
        made = text.draw.choice([
            f"v.{name} = min(v.{name}, old.{name})", f"v.{name} = (v.{name} + old.{name}) {half}",
            f"v.{name} = abs(v.{name} - old.{name})",
            f"before = v.{name}\nv.{name}[0] = old.{name}[0]\nv.{name} = max(before, v.{name})",
            f"if af.dot(v.{name}, old.{name}) > 3:\n    v.{name} = old.{name}",
        ])  # fmt: skip
        function.body[-1:-1] = ast.parse(made).body
        text.changed = True


def _shared(text: _Text) -> None:
    """Loops over what two neighbours share, by their fields and their edges."""
    fields = re.findall(r"    ([xy]\d): af\.(i\d+|f64)\n", text.before.source)
    for function in text.functions("around") if fields else []:
        (name, kind), draw = text.draw.choice(fields), text.draw
        pair = draw.random() < 0.6
        read = [f"w.{other}" for other, _ in fields] + ["w.number", "w.in_degree", "u.number"]
        read += ["side.weight", "side.length"] if pair else []
        near = f"min(max({draw.choice(read)}, 0), 5)"
        near = f"int({near})" if kind[0] == "i" else f"float({near})"
        ends = draw.choice(["", "", "if w.number == u.number:\n            continue",
                            "if w.number > u.number:\n            break"])  # fmt: skip
        lines = f"""
near = {"0" if kind[0] == "i" else "0.0"}
for u{", edge" if draw.random() < 0.3 else ""} in edges:
    for w{", side" if pair else ""} in af.intersect(v, u):
        {ends or "pass"}
        near {draw.choice(["+=", "+=", "-="])} {near}
v.{name} = near % 4
"""
        function.body += ast.parse(lines).body
        text.changed = True


def _first_together(text: _Text) -> None:
    """Fields of the first sender, or the last, of one message, instead of what was reduced into them."""
    one = r"v\.(x\d) (?:[-+*&|]?= af\.\w+\((.*)\)|[+*|&]= (.*))"
    how, scalars = text.draw.choice(["first", "last"]), re.findall(r"    (x\d): af\.\w+\n", text.before.source)

    def together(found: re.Match[str]) -> str:
        indent, a, one, other, b, *second = found.groups()
        if a == b or not {a, b} <= set(scalars):
            return found[0]
        return f"\n{indent}v.{a}, v.{b} = af.{how}(({one or other}, {second[0] or second[1]}))"

    if text.functions("compute") and text.before.shape in ("dense", "sparse", "phases"):
        text.replace_text(rf"\n( +){one}\n\1{one}(?=\n)", together)


def _best_with_sender(text: _Text) -> None:
    """In a program that goes to a fixed point, whom the best message came from."""
    if text.before.shape not in ("monotone", "priority") or "x1: " in text.before.source:
        return
    text.replace_text(
        r"v\.x0 = (min|max)\(v\.x0, (.*)\)(?=\n)",
        lambda found: f"v.x0, v.best = {found[1]}((v.x0, v.best), ({found[2]}, u.number))",
    )
    if text.changed:
        text.declare("best: af." + text.draw.choice(["i32", "ref", "i64", "i16"]))


def _let_out(text: _Text) -> None:
    """Without start or update, or both; where that makes no promise false, and no result uncertain."""
    if text.before.shape in ("monotone", "priority") or re.search(
        r"sparse = True|af\.any|math\.|\*\* -|% 80", text.before.source
    ):
        return
    for owner in [n for n in ast.walk(text.cls) if isinstance(n, ast.ClassDef) and n.name != "alone"]:
        names = [name for name in ("start", "update") if text.draw.random() < 0.6]
        kept = [n for n in owner.body if not (isinstance(n, ast.FunctionDef) and n.name in names)]
        said = "\n".join(map(ast.unparse, kept))
        if any(f"{mail}=" not in said for mail in re.findall(r"(m\d): af\.mail", said)):  # nobody would send it
            continue
        text.changed |= len(kept) < len(owner.body)
        owner.body = kept


def _helped(text: _Text) -> None:
    """What functions return is said by functions of the module, which are given vertices and parameters."""
    fixed = {n.name for n in text.module.body if isinstance(n, ast.FunctionDef)}
    fixed |= {ast.unparse(n.targets[0]) for n in text.module.body if isinstance(n, ast.Assign)}
    fixed |= {"af", "math", *dir(__builtins__), *(__builtins__ if isinstance(__builtins__, dict) else ())}
    for number, function in enumerate(text.functions("start", "update", "wants", "residual")):
        last = function.body[-1]
        if not isinstance(last, ast.Return) or last.value is None or text.draw.random() < 0.4:
            continue
        said = ast.unparse(last.value)
        names = sorted({n.id for n in ast.walk(last.value) if isinstance(n, ast.Name)} - fixed)
        if not names:
            continue
        helper = ast.parse(f"def said{number}({', '.join(names)}):\n    return {said}").body
        text.module.body[text.module.body.index(text.cls) : text.module.body.index(text.cls)] = helper
        last.value = _expression(f"said{number}({', '.join(names)})")
        text.changed = True


def _matrix(text: _Text) -> None:
    """A vector of edges as a matrix of one row, or of one column; or another field."""
    found = re.search(r"(e\d): af\.edge\(af\.\w+\[(\d)\]", text.before.source)
    if found is None or re.search(rf"\.{found[1]}\b(?!\[)", text.before.source):
        for along in text.functions("along"):
            along.body += ast.parse(
                "edge.m[0, 1] = (u.number + step) % 5 + edge.m[1, 1]\nedge.m[1, 0] = edge.m[0, 1] * 2"
            ).body
            text.changed = True
        if text.changed:
            text.declare(f"m: af.edge(af.{text.draw.choice(['f32', 'i64', 'i16'])}[2, 2], 1)")
        return
    row = text.draw.random() < 0.5
    text.replace_text(rf"(\.{found[1]})\[([^]]*)\]", r"\1[0, \2]" if row else r"\1[\2, 0]")
    size = f"1, {found[2]}" if row else f"{found[2]}, 1"
    text.replace_text(rf"({found[1]}: af\.edge\(af\.\w+)\[\d\]", rf"\1[{size}]")


def _whole_rows(text: _Text) -> None:
    """A total of whole vectors, as long as they are, if need be by a parameter."""
    vectors = re.findall(r"    (\w+): af\.([if]\d+)\[(.*)\]\n", text.before.source)
    if not vectors or re.search(r"math\.nan|priority|% 80|def along", text.before.source):
        return
    name, kind, length = text.draw.choice(vectors)
    written = text.functions("update", "start") if text.draw.random() < 0.5 else text.functions("update")
    for function in written:
        function.body[-1:-1] = ast.parse(f"g.rows += v.{name}").body
    text.declare(f"rows: af.total(af.{'f64' if kind[0] == 'f' else 'i64'}[{length}])")


def _given(text: _Text) -> None:
    """Fields of edges that are given, and fields of vertices, of all or by the ids of some."""
    source = text.before.source
    found = re.findall(r"    (\w+): (?:af\.edge\()?af\.(\w+)", source)
    edges = set(re.findall(r"    (\w+): af\.edge\(", source))
    for name, kind in found:
        if not re.fullmatch(r"[xyem]\d?", name) or re.search(rf"    {name}: af\.mail", source):
            continue
        if text.draw.random() < (0.8 if name in edges else 0.25):
            low, high = text.draw.choice([(0, 1), (0, 3), (1, 1)] if kind[0] in "uf" else [(0, 1), (-1, 3), (2, 2)])
            text.given[name] = (low, high, 0.5 if kind in ("f32", "f64") else None)
    text.some = text.draw.random() < 0.4


def _asked_totals(text: _Text) -> None:
    """What iteration asks of totals."""
    totals = re.findall(r"(t\d): af\.total\(af\.[iuf]64[,)]", text.before.source)
    if totals and "@af.phase" in text.before.source:
        text.replace_text(r"run\.changed > ", lambda found: f"g.{text.draw.choice(totals)} >= ")
        text.replace_text(r"def iteration\(run\)", "def iteration(run, g)")


def _both_ways(text: _Text) -> None:
    """A phase on edges in both directions, which knows no degrees."""
    if "af.edge(" not in text.before.source and "@af.phase" in text.before.source:
        text.replace_text(r"\b(in|out)_degree", "number")
        text.replace_text(r"edges='against'", "edges='both'")


def _inherited(draw: random.Random, spec: ProgramSpec) -> ProgramSpec:
    """The program as what another says, less some functions and parameters that it says itself."""
    text = _Text(draw, spec)
    base, own, body = text.cls, [], []
    for node in text.cls.body:
        name = node.name if isinstance(node, ast.FunctionDef) else ""
        parameter = isinstance(node, ast.AnnAssign) and re.match(r"(rounds|rate|on): ", ast.unparse(node))
        if name in ("update", "start", "wants", "residual", "iteration", "priority") and draw.random() < 0.5:
            own.append(node)
            if name == "update":
                body += ast.parse("def update(v, old):\n    return False").body
            elif name in ("iteration", "priority", "start"):
                body.append(node)
        elif parameter and draw.random() < 0.5:
            own.append(node)
            body.append(node)
        else:
            body.append(node)
    if not own:
        return spec
    base.name, base.body = "Base", body
    derived = ast.ClassDef("Fuzzed", [ast.Name("Base", ast.Load())], [], own, [_expression("af.program")])
    text.module.body.append(derived)
    text.changed = True
    return text.spec()


_FORMS: list[Callable[[_Text], None]] = [
    _best_with_sender, _first_together, _let_out, _rounded, _random_of_others, _out_edges, _sent_together, _chosen,
    _tabled, _divided, _matrix, _whole_rows, _asked_totals, _both_ways, _helped, _compared_as_floats, _of_old,
    _strided, _else_if, _whole_vectors, _shared, _given,
]  # fmt: skip

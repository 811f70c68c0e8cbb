"""Weak numbers take the type of the field they meet; flags count as numbers except among themselves."""

import ast

import numpy as np
import pytest

from arcflux.compile.check.types import FLAG, FLOAT, INT, Value, joined, of_call, of_dtype, of_operation, of_sign

F4, F8, I4, I8, U4, U8 = (of_dtype(np.dtype(name)) for name in ("f4", "f8", "i4", "i8", "u4", "u8"))
ON = of_dtype(np.dtype(bool))


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [(F4, INT, F4), (F4, FLOAT, F4), (F4, F8, F8), (F4, I8, F4), (I4, INT, I4), (I4, FLOAT, FLOAT), (I4, U4, I8),
     (INT, FLOAT, FLOAT), (FLAG, INT, INT), (ON, FLAG, ON)],
)  # fmt: skip
def test_joined(a: Value, b: Value, kind: Value) -> None:
    assert joined(a, b) == joined(b, a) == kind


def test_vectors_keep_their_length() -> None:
    vector = of_dtype(np.dtype("f4"), 8)
    assert joined(FLOAT, vector) == joined(vector, INT) == vector
    assert vector.scalar() == F4
    assert str(vector) == "float32[8]"
    assert of_call("dot", [vector, vector]) == F4


def test_operators() -> None:
    assert of_operation(ast.Div(), I4, I4) == FLOAT
    assert of_operation(ast.Div(), F4, INT) == F4
    assert of_operation(ast.Add(), ON, ON) == of_sign(ON) == INT
    assert of_operation(ast.BitOr(), ON, ON) == ON
    assert of_operation(ast.Pow(), U4, INT) == INT
    assert of_operation(ast.Mult(), I4, INT) == of_operation(ast.Add(), I4, I4) == I8
    assert of_operation(ast.Add(), U8, INT) == of_operation(ast.Add(), U8, U4) == U8
    assert of_operation(ast.Add(), U8, I4) == joined(U8, I8) == I8


def test_calls() -> None:
    assert of_call("min", [F4, INT, I8]) == F4
    assert of_call("abs", [ON]) == of_call("int", [F4]) == of_call("math.floor", [F4]) == INT
    assert of_call("bool", [F4]) == of_call("math.isnan", [F4]) == FLAG
    assert of_call("math.sqrt", [F4]) == F4
    assert of_call("math.sqrt", [I4]) == of_call("float", [I4]) == FLOAT


def test_what_is_stored() -> None:
    assert [kind.stored for kind in (FLAG, INT, FLOAT, F4)] == [np.dtype(t) for t in ("bool", "i8", "f8", "f4")]

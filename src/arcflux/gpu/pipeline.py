"""numba.cuda's compiler for our kernels: without passes that they do not need, and with the rounding that they ask for.

The counterpart of spmd/pipeline.py. Kernels have no closures, `with` blocks, inlined overloads or whole-array
expressions, so the passes that search for them are left out; repeated operations on the same types, of which a kernel
has hundreds, are resolved once. Other kernels in the same process are compiled as usual.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.cuda import compiler, dispatcher, types
from numba.cuda.compiler import CUDACompiler
from numba.cuda.core import typed_passes, untyped_passes
from numba.cuda.core.compiler_machinery import PassManager, register_pass
from numba.cuda.core.typed_passes import NopythonTypeInference
from numba.cuda.flags import CUDAFlags

from arcflux.spmd.remember import remembered

__all__ = ["install"]

_UNUSED = (
    typed_passes.AnnotateTypes,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.InlineClosureLikes,
    untyped_passes.InlineInlinables,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.LiteralUnroll,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.WithLifting,
)


# The resolved types of operations: templates are registered when modules are loaded, and never again.
_known: dict[Any, Any] = {}


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):  # type: ignore[misc]
    """Type inference that caches the result of operations on types."""

    _name = "arcflux_type_inference"

    def run_pass(self, state: Any) -> Any:
        with remembered(state.typingctx, types.Function | types.NumberClass, _known):
            return super().run_pass(state)


class _Flags(CUDAFlags):  # type: ignore[misc]
    """Options of a compilation, which are compared thousands of times: by the set options instead of all."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return bool(self._values == other._values if type(other) is _Flags else super().__eq__(other))

    def __hash__(self) -> int:
        return hash(_Flags)


class Lean(CUDACompiler):  # type: ignore[misc]
    """The passes of numba.cuda's own compiler, for our functions without those that would find nothing there."""

    def define_pipelines(self) -> list[PassManager]:
        """A single pipeline: a function that does not compile is an error."""
        [usual] = super().define_pipelines()
        if not _ours(self.state.func_id.func):
            return [usual]
        passes = PassManager("arcflux")
        for step, why in usual.passes:
            if step not in _UNUSED:
                passes.add_pass(_Inference if step is NopythonTypeInference else step, why)
        passes.finalize()
        return [passes]


def _ours(function: Any) -> bool:
    return bool(function.__module__.startswith("arcflux"))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collection, which takes a tenth of the time: compiling keeps most of its objects."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def install() -> None:
    """Use this pipeline for our functions, and no others.

    Kernels of a module with DETERMINISTIC multiply and add in two roundings, as a CPU does: the compiler would fuse the
    two (fma) with one rounding; numba.cuda has no option against that.
    """
    plain = compiler.compile_cuda

    def compile_cuda(function: Any, *given: Any, nvvm_options: Any = None, **named: Any) -> Any:
        if not _ours(function):
            return plain(function, *given, nvvm_options=nvvm_options, **named)
        if function.__globals__.get("DETERMINISTIC"):
            nvvm_options = {**(nvvm_options or {}), "fma": False}
        with _uncollected():
            return plain(function, *given, nvvm_options=nvvm_options, **named)

    compiler.CUDACompiler, compiler.CUDAFlags = Lean, _Flags
    compiler.compile_cuda = dispatcher.compile_cuda = compile_cuda

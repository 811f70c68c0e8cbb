"""Numba's compiler without the passes that kernels do not need: a first run waits mostly for Numba, little for LLVM.

Kernels have no closures, comprehensions or whole-array expressions, so the passes that search for them are left out;
and repeated operations on the same types, of which a kernel has hundreds, are resolved once.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import InlineOverloads, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes, LiteralUnroll, MakeFunctionToJitFunction, WithLifting

from arcflux.spmd.remember import remembered

__all__ = ["Lean"]

_UNUSED = (InlineClosureLikes, InlineOverloads, LiteralUnroll, MakeFunctionToJitFunction, NopythonRewrites, WithLifting)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):  # type: ignore[misc]
    """Type inference that caches the result of operations on types while it runs."""

    def run_pass(self, state: Any) -> Any:
        with remembered(state.typingctx, types.Function | types.NumberClass, {}):
            return super().run_pass(state)


class Lean(CompilerBase):  # type: ignore[misc]
    """The passes of Numba's own compiler, without those that would find nothing."""

    def define_pipelines(self) -> list[PassManager]:
        """A single pipeline: a function that does not compile is an error."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = PassManager("arcflux")
        for step, why in usual.passes:
            if step not in _UNUSED:
                passes.add_pass(_Inference if step is NopythonTypeInference else step, why)
        passes.finalize()
        return [passes]

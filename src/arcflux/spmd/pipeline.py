"""Numba's compiler without what kernels have no use for: a first run waits mostly for Numba, little for LLVM.

Kernels have no closures, comprehensions or expressions over whole arrays, so the passes that look for them are left
out; and the same operation on the same types, of which a kernel has hundreds, is resolved once.
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
    """Type inference that remembers, while it lasts, what operations are on which types."""

    def run_pass(self, state: Any) -> Any:
        with remembered(state.typingctx, types.Function | types.NumberClass, {}):
            return super().run_pass(state)


class Lean(CompilerBase):  # type: ignore[misc]
    """The passes of Numba's own compiler, without those that would find nothing."""

    def define_pipelines(self) -> list[PassManager]:
        """One way only: what does not compile is an error."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        made = PassManager("arcflux")
        for step, why in usual.passes:
            if step not in _UNUSED:
                made.add_pass(_Inference if step is NopythonTypeInference else step, why)
        made.finalize()
        return [made]

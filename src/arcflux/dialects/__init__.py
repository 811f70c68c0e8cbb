"""Programs in the words of other systems: thin front ends of the native form, without kernels of their own."""

from arcflux.dialects.gas import gas
from arcflux.dialects.msg import msg

__all__ = ["gas", "msg"]

"""Programs in the words of other systems: thin front ends of the native form, without kernels of their own."""

from arcflux.dialects.emv import emv
from arcflux.dialects.gas import gas
from arcflux.dialects.medusa import Medusa
from arcflux.dialects.msg import msg

__all__ = ["Medusa", "emv", "gas", "msg"]

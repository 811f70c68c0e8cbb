"""GX-Plug as in its paper, under Spark: tasks are agents, daemons compute, the driver relays messages.

Each task of a barrier stage owns the vertices of one part. It sends blocks of triplets to its daemons (plug/agent.py),
and the messages of a global synchronisation (which vertices changed, queries, values) go through the driver
(transports/relay.py). Cache, lazy uploading and skipping can be switched off, to measure their effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arcflux.errors import UsageError
from arcflux.partition import check_split
from arcflux.plug.connection import Connection
from arcflux.plug.upper import gas
from arcflux.program import Program
from arcflux.spark.barrier import BarrierPlug, refuse_parameters
from arcflux.spark.frames import is_connect
from arcflux.transports.relay import Relay
from arcflux.transports.rendezvous import Rendezvous

__all__ = ["FaithfulPlug"]


class FaithfulPlug(BarrierPlug):
    """A Spark session whose tasks are agents; see :func:`arcflux.spark.plug`.

    daemons, cache, lazy, skip, blocks, partition: as for :func:`arcflux.plug.upper.gas.run`.
    """

    way = "faithful"

    def __init__(
        self, session: Any, *, workers: int | None = None, daemons: Sequence[str] = ("cpu",), cache: int | None = None,
        lazy: bool = True, skip: bool = True, blocks: Any = None, partition: str = "ranges",
    ) -> None:  # fmt: skip
        super().__init__(session, workers=workers, ranks_per_node=1)
        if is_connect(session):
            raise UsageError(
                "the session is one of Spark Connect, and the way is 'faithful', where all messages go by the driver",
                expected="a classic session, whose driver is this process", remedy="way='attached' or way='barrier'",
            )  # fmt: skip
        gas.refuse_options(daemons, blocks, cache, lazy, skip)
        check_split(1, partition)
        self._relays: list[Relay] = []
        # Open from here on, so that daemons do not end between two stages; tasks of other hosts start their own.
        self._daemons = [Connection.open(name) for name in daemons]
        self.agents = {
            "daemons": list(daemons), "cache": cache, "lazy": lazy, "skip": skip, "blocks": blocks,
            "partition": partition, "folder": str(self._daemons[0].place.folder),
        }  # fmt: skip

    def checked(self, what: str | Program, arguments: Mapping[str, Any]) -> None:
        """Refuse all but programs: native algorithms have no triplets."""
        if not isinstance(what, Program):
            raise UsageError(
                f"what to run is {what!r}, and the way is 'faithful'",
                expected="a program, whose triplets go to daemons",
                remedy="a class of @af.msg or @af.program, or way='attached'",
            )  # fmt: skip
        refuse_parameters(what, arguments, gas.run)

    def relay(self, meeting: Rendezvous) -> Relay:
        """A new relay beside a rendezvous."""
        self._relays.append(Relay(meeting.token, meeting.address[0]))
        return self._relays[-1]

    @property
    def passed_on(self) -> tuple[int, int]:
        """Messages and bytes that went through the driver so far."""
        return sum(one.messages for one in self._relays), sum(one.bytes for one in self._relays)

    def close(self) -> None:
        """Disconnect from the daemons, and close frames, rendezvous and relays."""
        super().close()
        while self._relays:
            self._relays.pop().close()
        while self._daemons:
            self._daemons.pop().close()

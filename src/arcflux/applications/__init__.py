"""The applications of the HIVE study: one file each, or one folder with kernels beside the application."""

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.applications.louvain import Communities, leiden, louvain
    from arcflux.applications.modularity import modularity

__all__ = ["Communities", "leiden", "louvain", "modularity"]

import_lazily(__name__, {"louvain": "Communities leiden louvain", "modularity": "modularity"})

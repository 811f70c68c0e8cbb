"""Compiled code on disk, in *sealed* files: each begins with a digest of its content and of its sources.

Code that is loaded must be the code that was written. A file with a flipped bit, half a file, or code of another
version has no valid seal, and counts as missing: the kernel is compiled again.
"""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

from numba.core.caching import IndexDataCacheFile

from arcflux.spmd.private import read_private, write_private

__all__ = ["SealedCacheFile"]

_DIGEST = 32


class SealedCacheFile(IndexDataCacheFile):
    """The files of a kernel in Numba's cache: an index by signature, and the compiled code of each."""

    @classmethod
    def of(cls, plain: Any) -> SealedCacheFile:
        """The sealed form of Numba's cache files, for cores or GPUs."""
        sealed = cls.__new__(cls)
        sealed.__dict__.update(vars(plain))
        return sealed

    def _seal(self, content: bytes) -> bytes:
        """The digest of the content, of the sources it was compiled from, and of the compiler's version."""
        about = pickle.dumps((self._version, self._source_stamp))
        return hashlib.blake2b(content, digest_size=_DIGEST, key=hashlib.sha256(about).digest()).digest()

    def _load(self, path: str) -> Any:
        """The content of a sealed file; a file without a valid seal is not unpickled."""
        whole = read_private(path)
        if whole is None or whole[:_DIGEST] != self._seal(whole[_DIGEST:]):
            raise ValueError(f"{path} has no seal of ours")
        return pickle.loads(whole[_DIGEST:])  # noqa: S301 - we wrote it

    def _save(self, path: str, content: Any) -> None:
        raw = self._dump(content)
        write_private(path, self._seal(raw) + raw)

    def _load_index(self) -> dict[Any, str]:
        try:
            index: dict[Any, str] = self._load(self._index_path)
        except ValueError:
            return {}
        return index

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._save(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._load(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._save(self._data_path(name), data)

"""The packager that runs in Spark's JVM: built from source by the Scala compiler that PySpark brings, once, and loaded.

The jar is kept in the owner-only cache by a hash of its source and Spark's version. ``make packager`` builds it, too.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from arcflux import config
from arcflux.errors import ArcfluxError, SpaceError

__all__ = ["PackagerError", "build", "loaded"]

_CLASS = "arcflux.spark.Packager"
# Seconds for the compiler, on a machine that may be busy.
_COMPILING = 300.0
_instances: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


class PackagerError(ArcfluxError):
    """The packager cannot be built or loaded here; frames go through Arrow then."""


def _source() -> str:
    return (files("arcflux.spark") / "jvm" / "Packager.scala").read_text()


def build() -> Path:
    """The jar, compiled unless it is there already."""
    import pyspark

    source = _source()
    mark = hashlib.sha256(f"{pyspark.__version__}\n{source}".encode()).hexdigest()[:16]
    jar = config.cache_folder("spark") / f"packager-{mark}.jar"
    if jar.exists():
        return jar
    jars = Path(pyspark.__file__).parent / "jars"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else Path("java")
    with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
        (text := Path(folder, "Packager.scala")).write_text(source)
        made = Path(folder, "packager.jar")
        line = [java, "-cp", f"{jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", made, text]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=_COMPILING, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PackagerError(f"the Scala compiler of PySpark cannot be run: {error}") from error
        if done.returncode or not zipfile.is_zipfile(made):
            raise PackagerError(f"the packager does not compile: {done.stdout}{done.stderr}")
        try:
            made.replace(jar)
        except OSError as error:
            raise SpaceError(f"{jar} cannot be written: {error}") from error
    return jar


def loaded(session: Any) -> Any:
    """The packager in the JVM of a session, and its jar on every executor."""
    context = session.sparkContext
    if context not in _instances:
        jar = build()
        jvm = context._jvm
        context._jsc.addJar(str(jar))
        urls = context._gateway.new_array(jvm.java.net.URL, 1)
        urls[0] = jvm.java.io.File(str(jar)).toURI().toURL()
        above = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader = jvm.java.net.URLClassLoader(urls, above)
        try:
            _instances[context] = loader.loadClass(_CLASS).newInstance()  # py4j finds no method of varying arguments
        except Exception as error:  # Py4JJavaError, of which the message says what is wrong
            raise PackagerError(f"the packager cannot be loaded: {error}") from error
    return _instances[context]


if __name__ == "__main__":
    print(build())

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

__all__ = ["PackagerError", "build", "instance", "loaded"]

# Seconds for the compiler, on a machine that may be busy.
_COMPILING = 300.0
_instances: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


class PackagerError(ArcfluxError):
    """The packager cannot be built or loaded here; frames go through Arrow then."""


def build(source: str | None = None, name: str = "packager") -> Path:
    """The jar of the packager, or of other Scala source, compiled unless it is there already."""
    import pyspark

    source = source or (files("arcflux.spark") / "jvm" / "Packager.scala").read_text()
    mark = hashlib.sha256(f"{pyspark.__version__}\n{source}".encode()).hexdigest()[:16]
    jar = config.cache_folder("spark") / f"{name}-{mark}.jar"
    if jar.exists():
        return jar
    jars = Path(pyspark.__file__).parent / "jars"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else Path("java")
    with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
        (text := Path(folder, f"{name}.scala")).write_text(source)
        made = Path(folder, "made.jar")
        line = [
            str(java),
            "-cp",
            f"{jars}/*",
            "scala.tools.nsc.Main",
            "-usejavacp",
            "-nowarn",
            "-d",
            str(made),
            str(text),
        ]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=_COMPILING, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PackagerError(f"the Scala compiler of PySpark cannot be run: {error}") from error
        if done.returncode or not zipfile.is_zipfile(made):
            raise PackagerError(f"{name} does not compile: {done.stdout}{done.stderr}")
        try:
            made.replace(jar)
        except OSError as error:
            raise SpaceError(f"{jar} cannot be written: {error}") from error
    return jar


def loaded(session: Any) -> Any:
    """The packager in the JVM of a session, and its jar on every executor."""
    context = session.sparkContext
    if context not in _instances:
        _instances[context] = instance(session, build(), "arcflux.spark.Packager")
    return _instances[context]


def instance(session: Any, jar: Path, name: str) -> Any:
    """An object of a class in a jar, which every executor is given."""
    context = session.sparkContext
    jvm = context._jvm
    try:
        context._jsc.addJar(str(jar))
        urls = context._gateway.new_array(jvm.java.net.URL, 1)
        urls[0] = jvm.java.io.File(str(jar)).toURI().toURL()
        above = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        # py4j finds no method of varying arguments, such as getDeclaredConstructor.
        return jvm.java.net.URLClassLoader(urls, above).loadClass(name).newInstance()
    except Exception as error:  # Py4JJavaError, of which the message says what is wrong
        raise PackagerError(f"{name} cannot be loaded: {error}") from error


if __name__ == "__main__":
    print(build())

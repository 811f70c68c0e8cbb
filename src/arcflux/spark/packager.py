"""Code for Spark's JVM, a packager of frames and a reader of results: built by PySpark's own Scala compiler, once.

The jar is stored in the owner-only cache by a hash of its source and Spark's version. ``make packager`` builds it, too.
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
_instances: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


class PackagerError(ArcfluxError):
    """The packager cannot be built or loaded here; frames are sent as Arrow then."""


def build(source: str | None = None, name: str = "packager") -> Path:
    """The jar of both, or of other Scala source, compiled unless it exists."""
    import pyspark

    own = sorted((files("arcflux.spark") / "jvm").iterdir(), key=lambda file: file.name)
    sources = [source] if source else [file.read_text() for file in own if file.name.endswith(".scala")]
    mark = hashlib.sha256("\n".join([pyspark.__version__, *sources]).encode()).hexdigest()[:16]
    jar = config.cache_folder("spark") / f"{name}-{mark}.jar"
    if jar.exists():
        return jar
    jars = Path(pyspark.__file__).parent / "jars"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else Path("java")
    with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
        texts = [Path(folder, f"{name}{number}.scala") for number in range(len(sources))]
        for text, content in zip(texts, sources, strict=True):
            text.write_text(content)
        made = Path(folder, "made.jar")
        line = [
            str(java), "-cp", f"{jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(made),
            *map(str, texts),
        ]  # fmt: skip
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


def loaded(session: Any, name: str = "Packager") -> Any:
    """The packager, or the reader of results, in the JVM of a session, with its jar on every executor."""
    made = _instances.setdefault(session.sparkContext, {})
    if name not in made:
        try:
            made[name] = instance(session, build(), f"arcflux.spark.{name}")
        except PackagerError as error:  # the compiler would take seconds to fail again
            made[name] = error
    if isinstance(made[name], PackagerError):
        raise made[name]
    return made[name]


def instance(session: Any, jar: Path, name: str) -> Any:
    """An object of a class in a jar, which is sent to every executor."""
    context = session.sparkContext
    jvm = context._jvm
    try:
        context._jsc.addJar(str(jar))
        urls = context._gateway.new_array(jvm.java.net.URL, 1)
        urls[0] = jvm.java.io.File(str(jar)).toURI().toURL()
        above = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        # py4j finds no variadic methods, such as getDeclaredConstructor.
        return jvm.java.net.URLClassLoader(urls, above).loadClass(name).newInstance()
    except Exception as error:  # Py4JJavaError, whose message has the cause
        raise PackagerError(f"{name} cannot be loaded: {error}") from error


if __name__ == "__main__":
    print(build())

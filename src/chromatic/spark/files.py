"""Files on any path that Spark understands: written beside their place, renamed when they are whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from chromatic import modelfile
from chromatic.errors import InputError
from chromatic.model import Model


@contextlib.contextmanager
def replacing(session: SparkSession, path: str, *, overwrite: bool) -> Iterator[str]:
    """A path to write to, file or folder, that becomes `path` when the block ends without an error."""
    system, target = _opened(session, path)
    check_target(session, path, overwrite=overwrite)
    jvm: Any = session._jvm
    path_of = jvm.org.apache.hadoop.fs.Path
    folder = path_of(target.getParent(), f".{target.getName()}.{uuid.uuid4().hex[:8]}.part")
    system.mkdirs(folder)
    system.deleteOnExit(folder)  # by the JVM, which outlives a driver that is killed
    try:
        beside = path_of(folder, target.getName())
        yield beside.toString()
        if overwrite and system.exists(target):
            system.delete(target, True)
        if not system.rename(beside, target):
            raise OSError(f"{path}: {beside.getName()} could not be renamed to it")
    finally:
        system.delete(folder, True)
        system.cancelDeleteOnExit(folder)


def check_target(session: SparkSession, path: str, *, overwrite: bool) -> None:
    """Refuse a target that is there, unless it is to be overwritten."""
    system, target = _opened(session, path)
    if not overwrite and system.exists(target):
        raise InputError(f"{path}: is there already; name another path, or overwrite it")


def check_file(session: SparkSession, path: str) -> None:
    """Refuse a folder where a file is to be written."""
    if is_folder(session, path):
        raise InputError(f"{path}: is a folder; expected the name of a file to write")


def write_model(session: SparkSession, model: Model, path: str, *, names: bool = True) -> None:
    """Write a model file to any path; one that is there is replaced."""
    jvm: Any = session._jvm
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "model.chroma")
        modelfile.save(model, local, names=names)
        check_file(session, path)
        system, _ = _opened(session, path)
        with replacing(session, path, overwrite=True) as beside:
            system.copyFromLocalFile(_local(jvm, local), jvm.org.apache.hadoop.fs.Path(beside))


def read_model(session: SparkSession, path: str) -> Model:
    """Read a model file from any path."""
    system, source = _opened(session, path)
    if not system.exists(source):
        raise InputError(f"{path}: no such file; check the path")
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "model.chroma")
        system.copyToLocalFile(False, source, _local(session._jvm, local), True)
        try:
            return modelfile.load(local)
        except InputError as error:
            raise InputError(str(error).replace(local, path, 1)) from error


def is_folder(session: SparkSession, path: str) -> bool:
    """Whether a path is a folder."""
    system, there = _opened(session, path)
    return bool(system.exists(there) and system.getFileStatus(there).isDirectory())


def _local(jvm: Any, path: str) -> Any:
    return jvm.org.apache.hadoop.fs.Path("file://" + path)


def _opened(session: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path within it.

    Local files are written raw: a checksum beside a file would forbid to replace it by other means.
    """
    jvm: Any = session._jvm
    target = jvm.org.apache.hadoop.fs.Path(path)
    system = target.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    return (system.getRaw() if system.getScheme() == "file" else system), target

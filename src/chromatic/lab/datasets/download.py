"""One file over HTTP: resumed where it was cut, checked, and in its place only when it is whole and right.

pooch compares checksums and puts the file in its place. What it has not is here: a download goes on from
`NAME.part`, also in another process, if the server still has the same file (its ETag or date says so).
Where no checksum is published, the first download must at least be an archive that can be read to its
end, and its checksum is kept in `NAME.sha256`, in the format of sha256sum, for every time after.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromatic._extras import optional
from chromatic._files import replacing
from chromatic.data.source import opened
from chromatic.errors import InputError

if TYPE_CHECKING:
    from chromatic.lab.datasets.fetch import Bar

log = logging.getLogger("chromatic")

ATTEMPTS = 4  # in a row that bring nothing
PAUSE = 1.0  # seconds, doubled each time
TIMEOUT = 60.0
BLOCK = 1 << 16  # what was read of the last one is lost with a connection


class NotThere(Exception):
    """The server does not have the file."""


def download(url: str, path: Path, sha256: str | None, bar: Bar) -> Path:
    """Download a file unless it is there; either way its checksum must be the known one."""
    pooch = optional("pooch")
    pooch.get_logger().setLevel("WARNING")
    record = path.with_name(path.name + ".sha256")
    if sha256 is None and record.exists():
        sha256 = record.read_text().split()[0]
    try:
        pooch.retrieve(url, sha256, path.name, path.parent, downloader=_Resumed(path, sha256 is None, bar))
    except InputError:
        raise
    except ValueError as error:  # pooch's word for a checksum that differs
        raise InputError(
            f"{url}: what came has not the SHA-256 {sha256} and was thrown away; get it again later"
            + (f", or delete {record} if the file was meant to change" if record.exists() else "")
        ) from error
    if sha256 is None:
        with replacing(record) as file:
            file.write(f"{pooch.file_hash(str(path))}  {path.name}\n".encode())
        log.warning("%s: no checksum is published; that of this download is kept in %s", path.name, record)
    return path


class _Resumed:
    """A downloader for pooch that goes on where the last one was cut."""

    def __init__(self, path: Path, unknown: bool, bar: Bar) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self.tag = path.with_name(path.name + ".tag")  # of the server's file that the part is of
        self.unknown = unknown  # there is no checksum to compare with
        self.bar = bar

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """What pooch calls: bring the file to a path."""
        import requests

        if self.path.exists():
            log.warning("%s differs from its checksum; getting it again", self.path)
        failed = 0
        while True:
            before = self._size()
            try:
                self._go_on(url)
                break
            except requests.RequestException as error:
                failed = 0 if self._size() > before else failed + 1
                if failed == ATTEMPTS:
                    raise ConnectionError(
                        f"{url}: the download stopped at {self._size():,} bytes ({_reason(error)}); "
                        "run the command again to go on from there"
                    ) from error
                time.sleep(PAUSE * 2**failed)
        if self.unknown:
            self._read_to_the_end(url)
        os.replace(self.part, output_file)
        self.tag.unlink(missing_ok=True)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _go_on(self, url: str) -> None:
        """Ask for what is missing, and take it if it belongs to what is there."""
        import requests

        headers = {"Accept-Encoding": "identity"}
        start = self._size() if self.tag.exists() else 0
        if start:
            headers |= {"Range": f"bytes={start}-", "If-Range": self.tag.read_text()}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 404:
                raise NotThere(f"{url}: the server does not have it")
            whole = answer.headers.get("Content-Range", "").removeprefix("bytes */")
            if answer.status_code == 416 and whole == str(start):  # nothing is missing
                return
            if answer.status_code == 416:
                self.part.unlink()
            answer.raise_for_status()
            if answer.status_code != 206:
                start = 0
            self._take(answer, start)

    def _take(self, answer: Any, start: int) -> None:
        """Write an answer's bytes from a place on; all of those that it promises must come."""
        import requests

        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        tag = _tag(answer.headers)
        if tag:
            self.tag.write_text(tag)
        else:
            self.tag.unlink(missing_ok=True)
        with open(self.part, "r+b" if start else "wb") as file, self.bar(self.path.name, total) as progress:
            file.seek(start)
            if progress and start:
                progress(start)
            for block in answer.iter_content(BLOCK):
                file.write(block)
                if progress:
                    progress(len(block))
            file.truncate()
            os.fsync(file.fileno())
        if total is not None and self._size() != total:
            raise requests.ConnectionError(f"{self._size():,} of {total:,} bytes came")

    def _read_to_the_end(self, url: str) -> None:
        """Without a checksum, those within the archive must do."""
        try:
            with (
                self.bar(f"checking {self.path.name}", self._size()) as progress,
                opened(str(self.part), progress) as file,
            ):
                while file.read(BLOCK):
                    pass
        except InputError as error:
            self.part.unlink()
            self.tag.unlink(missing_ok=True)
            raise InputError(f"{url}: what came is damaged and was thrown away; get it again") from error


def _tag(headers: Any) -> str:
    """What tells one state of a file from another: a strong ETag, or the date."""
    etag = str(headers.get("ETag", ""))
    return etag if etag and not etag.startswith("W/") else str(headers.get("Last-Modified", ""))


def _reason(error: Exception) -> str:
    """The innermost cause, in its own words."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return str(error) or type(error).__name__

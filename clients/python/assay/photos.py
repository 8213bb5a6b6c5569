"""The multipart body of a photo upload, streamed from files."""

from __future__ import annotations

import io
import mimetypes
import os
import secrets
from dataclasses import dataclass
from typing import BinaryIO, Callable, Iterator, List, Optional, Sequence, Tuple, Union

Photo = Union[str, "os.PathLike[str]", Tuple[str, bytes], Tuple[str, BinaryIO]]
"""A path, or a name with its bytes or an open seekable file."""

_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Progress:
    """How much of an upload has been sent."""

    sent: int
    total: int


class _Part:
    def __init__(self, photo: Photo, boundary: str) -> None:
        if isinstance(photo, tuple):
            name, content = photo
            self._open: Callable[[], BinaryIO] = lambda: (
                io.BytesIO(content) if isinstance(content, (bytes, bytearray)) else content
            )
            self.closes = isinstance(content, (bytes, bytearray))
            self.size = len(content) if self.closes else _remaining(content)
        else:
            path = os.fspath(photo)
            name = os.path.basename(path)
            self._open = lambda: open(path, "rb")
            self.closes = True
            self.size = os.path.getsize(path)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        self.head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="photos"; filename="{_quoted(name)}"\r\n'
            f"Content-Type: {media_type}\r\n\r\n"
        ).encode()

    def chunks(self) -> Iterator[bytes]:
        source = self._open()
        try:
            left = self.size
            while left > 0:
                chunk = source.read(min(_CHUNK, left))
                if not chunk:
                    raise OSError("a photo file became shorter while it was sent")
                left -= len(chunk)
                yield chunk
        finally:
            if self.closes:
                source.close()


class Upload:
    """A multipart body with a known length."""

    def __init__(self, photos: Sequence[Photo], progress: Optional[Callable[[Progress], None]]) -> None:
        if not photos:
            raise ValueError("no photo to upload")
        boundary = "assay-" + secrets.token_hex(16)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._parts: List[_Part] = [_Part(p, boundary) for p in photos]
        self._end = f"--{boundary}--\r\n".encode()
        self.length = sum(len(p.head) + p.size + 2 for p in self._parts) + len(self._end)
        self._progress = progress

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for chunk in self._chunks():
            yield chunk
            sent += len(chunk)
            if self._progress:
                self._progress(Progress(sent, self.length))

    def _chunks(self) -> Iterator[bytes]:
        for part in self._parts:
            yield part.head
            yield from part.chunks()
            yield b"\r\n"
        yield self._end


def _remaining(file: BinaryIO) -> int:
    at = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(at)
    return end - at


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")

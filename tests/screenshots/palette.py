"""PNG files with a palette: a third of the bytes that a browser's screenshot has."""

import struct
import zlib
from collections import Counter
from pathlib import Path

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST = 256

Color = tuple[int, ...]


def save_with_palette(path: Path) -> None:
    """Rewrite a screenshot (8 bits, RGB or RGBA, not interlaced) with at most 256 colours."""
    width, height, pixels = _pixels(path.read_bytes())
    counted = Counter(pixels)
    palette = [color for color, _ in counted.most_common(_MOST)]
    indexes = {color: n for n, color in enumerate(palette)}
    nearest = {color: indexes.get(color) or _nearest(color, palette) for color in counted}
    body = bytes(nearest[each] for each in pixels)
    rows = b"".join(b"\0" + body[n * width : (n + 1) * width] for n in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colors = bytes(value for color in palette for value in color)
    chunks = ((b"IHDR", head), (b"PLTE", colors), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    path.write_bytes(_SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks))


def _nearest(color: Color, palette: list[Color]) -> int:
    def distance(n: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(color, palette[n], strict=True))

    return min(range(len(palette)), key=distance)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def _pixels(data: bytes) -> tuple[int, int, list[Color]]:
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    if data[:8] != _SIGNATURE or depth != 8 or kind not in {2, 6} or interlaced:
        raise ValueError("not a screenshot of Chromium: an RGB or RGBA PNG with 8 bits")
    size = 3 if kind == 2 else 4
    raw = zlib.decompress(b"".join(_image_data(data)))
    stride, above, pixels = width * size, bytes(width * size), list[Color]()
    for n in range(height):
        start = n * (stride + 1)
        row = _unfiltered(raw[start], raw[start + 1 : start + 1 + stride], above, size)
        pixels += zip(row[0::size], row[1::size], row[2::size], strict=True)
        above = row
    return width, height, pixels


def _image_data(data: bytes) -> list[bytes]:
    at, found = 8, list[bytes]()
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            found.append(data[at + 8 : at + 8 + length])
        at += 12 + length
    return found


def _unfiltered(kind: int, row: bytes, above: bytes, size: int) -> bytes:
    """Undo a row's filter (PNG 1.2, section 6)."""
    if kind == 0:
        return row
    if kind == 2:
        return bytes((a + b) & 255 for a, b in zip(row, above, strict=True))
    done = bytearray(row)
    for n in range(len(row)):
        left = done[n - size] if n >= size else 0
        corner = above[n - size] if n >= size else 0
        done[n] = (row[n] + _predicted(kind, left, above[n], corner)) & 255
    return bytes(done)


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda each: abs(guess - each))

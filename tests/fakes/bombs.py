"""Small bodies that become large when they are decompressed."""

from __future__ import annotations

import struct
import zlib

PIECE = 1_000_000
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def gzipped_zeros(millions: int) -> bytes:
    """As `gzip.compress` writes them, but a million is compressed once and repeated."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    piece = deflate.compress(bytes(PIECE)) + deflate.flush(zlib.Z_FULL_FLUSH)
    size = millions * PIECE
    return HEAD + piece * millions + deflate.flush() + struct.pack("<II", zlib.crc32(bytes(size)), size)

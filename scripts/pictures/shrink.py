"""Writes a PNG again with a palette of 256 colours: of a flat page these are nearly all, in less than half the bytes."""

import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def parts(data):
    at = len(SIGNATURE)
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + length]
        at += 12 + length


def predicted(left, above, corner):
    """Paeth's predictor."""
    guess = left + above - corner
    by_left, by_above, by_corner = abs(guess - left), abs(guess - above), abs(guess - corner)
    return left if by_left <= by_above and by_left <= by_corner else above if by_above <= by_corner else corner


def lines(raw, height, stride, size):
    """The lines of pixels, without the filters that they are stored with. `size`: bytes of a pixel."""
    before = bytes(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        if kind == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, before))
        elif kind:
            for i in range(stride):
                left, corner = (line[i - size], before[i - size]) if i >= size else (0, 0)
                add = left if kind == 1 else (left + before[i]) // 2 if kind == 3 else predicted(left, before[i], corner)
                line[i] = (line[i] + add) & 255
        yield line
        before = line


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other))


def palette_of(counted):
    """The most frequent colours as they are, then those that no colour before is like: what is rare keeps its hue."""
    palette = [colour for colour, _ in counted.most_common(48)]
    for colour, _ in counted.most_common():
        if len(palette) == 256:
            break
        if min(distance(colour, other) for other in palette) > 150:
            palette.append(colour)
    return palette


def shrink(file):
    raw, data = b"", file.read_bytes()
    for kind, part in parts(data):
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", part[:10])
        elif kind == b"IDAT":
            raw += part
    assert depth == 8 and colours in (2, 6), "chromium writes 8 bits a channel"
    size = 3 if colours == 2 else 4
    pixels = [list(zip(line[0::size], line[1::size], line[2::size])) for line in lines(zlib.decompress(raw), height, width * size, size)]
    counted = collections.Counter()
    for line in pixels:
        counted.update(line)
    palette = palette_of(counted)
    nearest = {colour: min(range(len(palette)), key=lambda i: distance(palette[i], colour)) for colour in counted}
    image = b"".join(b"\0" + bytes(nearest[colour] for colour in line) for line in pixels)
    file.write_bytes(SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
                     chunk(b"PLTE", b"".join(map(bytes, palette))) + chunk(b"IDAT", zlib.compress(image, 9)) + chunk(b"IEND", b""))

"""Hashes and draws of 64 bits, in integers of any size."""

MASK = (1 << 64) - 1


def rotate(x, bits):
    return ((x << bits) | (x >> (64 - bits))) & MASK


P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def xxh64(data, primes=(P1, P2, P3, P4, P5)):
    """From the specification of XXH64, seed 0, with any numbers for its primes."""
    P1, P2, P3, P4, P5 = primes

    def mix(lane, word):
        return rotate((lane + word * P2) & MASK, 31) * P1 & MASK

    i, n = 0, len(data)
    if n >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while i + 32 <= n:
            lanes = [
                mix(lane, int.from_bytes(data[i + 8 * k : i + 8 * k + 8], "little"))
                for k, lane in enumerate(lanes)
            ]
            i += 32
        h = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            h = ((h ^ mix(0, lane)) * P1 + P4) & MASK
    else:
        h = P5
    h = (h + n) & MASK
    while i + 8 <= n:
        h = (rotate(h ^ mix(0, int.from_bytes(data[i : i + 8], "little")), 27) * P1 + P4) & MASK
        i += 8
    if i + 4 <= n:
        h = (rotate(h ^ (int.from_bytes(data[i : i + 4], "little") * P1 & MASK), 23) * P2 + P3) & MASK
        i += 4
    for byte in data[i:]:
        h = rotate(h ^ (byte * P5 & MASK), 11) * P1 & MASK
    h = (h ^ (h >> 33)) * P2 & MASK
    h = (h ^ (h >> 29)) * P3 & MASK
    return h ^ (h >> 32)


def with_hash(h, prefix=b""):
    """The string of eight bytes more than the prefix (of 0, 8 or 16) whose XXH64 is h: all steps undone."""
    first, second, third = (pow(p, -1, 1 << 64) for p in (P1, P2, P3))
    h ^= h >> 32
    h = h * third & MASK
    h ^= h >> 29 ^ h >> 58
    h = h * second & MASK
    h ^= h >> 33
    h = rotate((h - P4) * first & MASK, 64 - 27)
    before = (P5 + len(prefix) + 8) & MASK
    for i in range(0, len(prefix), 8):
        word = int.from_bytes(prefix[i : i + 8], "little")
        before = (rotate(before ^ (rotate(word * P2 & MASK, 31) * P1 & MASK), 27) * P1 + P4) & MASK
    word = rotate((h ^ before) * first & MASK, 64 - 31) * second & MASK
    return prefix + word.to_bytes(8, "little")


def signed(h):
    return h - (1 << 64) if h >> 63 else h


def mix(z):
    """The finalizer of SplitMix64."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def draw(seed, v, n):
    """The number below n that seed and v draw."""
    z = ((seed & MASK) ^ (v * 0xD1342543DE82EF95 & MASK)) + 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    return (z >> 32) * n >> 32

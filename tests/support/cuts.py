# SPDX-License-Identifier: GPL-3.0-or-later
"""Random tensors in sharding notation."""


def cut(draw, dims, axes):
    """[64@(a,b),32]: each axis cuts one of the dims, or none, as `draw`, a random.Random, decides."""
    parts = [[] for _ in dims]
    for name in draw.sample(axes, len(axes)):
        dim = draw.randrange(len(dims) + 1)
        if dim < len(dims):
            parts[dim].append(name)
    words = [f"{n}@({','.join(part)})" if part else str(n) for n, part in zip(dims, parts)]
    return f"[{','.join(words)}]"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Random products, networks and transformers, by random strategies: what `lower` prints of each, run again, takes the same time, to
# the bit. ICISIM_ROUNDS says how many.
set -euo pipefail
icisim=$(realpath "$1")
export PYTHONPATH=$PWD/tests/support PYTHONDONTWRITEBYTECODE=1
. tests/support/sanitized.sh
rounds=40
! sanitized "$icisim" || rounds=6
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
exec python3 - "$icisim" "${ICISIM_ROUNDS:-$rounds}" <<'END'
import csv
import io
import random
import subprocess
import sys

from cuts import cut

icisim, rounds = sys.argv[1], int(sys.argv[2])
SLICES = (("v5e", "2x3", (2, 3)), ("v5e", "2x4", (2, 4)), ("v5e", "4x4", (4, 4)), ("v6e", "2x4", (2, 4)), ("v5e", "8", (8, 1)),
          ("v4", "2x2x2", (2, 4)), ("v5p", "2x2x4", (4, 4)), ("v4", "4x4x4", (4, 16)), ("v7x", "2x2x2", (4, 4)), ("v6e", "4x8", (4, 8)))
draw = random.Random(20261124)


def options(**choices):
    """Each of them or its default."""
    return [f"--{name.replace('_', '-')}={draw.choice(values)}" for name, values in choices.items() if draw.random() < 0.5]


def product(sizes):
    devices = sizes[0] * sizes[1]
    count = draw.choice((1, 1, 2, 3))
    dims = [devices * draw.choice((1, 3, 5, 7, 64, 352)) for _ in range(count + 2)]
    kind, sums = draw.choice((("bf16", "bf16"), ("bf16", "f32"), ("int8", "int32"), ("f32", "f32")))
    arrays = [kind + cut(draw, dims[i:i + 2], ["a", "b"] if i in (0, count) else []) for i in range(count + 1)]
    op = f"{' . '.join(arrays)} -> {sums}{cut(draw, (dims[0], dims[-1]), ['a', 'b'])}"
    how = draw.choice((["--strategy=uni"], ["--strategy=bidi"], ["--strategy=bidi-half"], ["--strategy=naive"], [],
                       options(plan=("auto", "textbook")), ["--gather=after"], ["--strategy=uni", "--loop=xla"],
                       ["--strategy=bidi", "--all-reduce=chunks", f"--chunks={draw.choice((2, 3))}"]))
    return op, f"a={sizes[0]},b={sizes[1]}", how, ""


def network(sizes):
    devices = sizes[0] * sizes[1]
    widths = [devices * draw.choice((1, 3, 5, 24)) for _ in range(draw.randrange(2, 6))]
    shardings = draw.choice(("x: P(dp), w: P(), b: P()", "x: P(dp), w: P(dp), b: P(dp)", "x: 'P(dp,tp)', w: 'P((tp,dp))', b: P(tp)"))
    return "w.yaml", f"dp={sizes[0]},tp={sizes[1]}", options(
        strategy=("naive", "uni", "bidi", "bidi-half"), prefetch=(1, 2), fuse=("off",), combine=("on",)), f"""
model: mlp
layers: {widths}
activation: {draw.choice(("relu", "tanh"))}
loss: squared-error
batch: {devices * draw.choice((1, 3, 8))}
dtype: {draw.choice(("f32", "bf16"))}
shardings: {{{shardings}}}
"""


def transformer(sizes):
    axes = draw.choice((("dp", "fsdp"), ("fsdp", "tp"), ("dp", "tp"), ("tp", "fsdp")))
    kv = draw.choice((16, 32))
    experts = f"moe: {{experts: {16 * draw.choice((1, 2))}, top-k: 2, capacity-factor: 1.25, expert-axis: {axes[0]}, routing: {{draw: zipf, exponent: 0.5, seed: {draw.randrange(9)}}}}}\n" \
        if draw.random() < 0.2 and axes[0] != "tp" else ""
    return "w.yaml", f"{axes[0]}={sizes[0]},{axes[1]}={sizes[1]}", options(
        strategy=("naive", "uni", "bidi", "bidi-half"), prefetch=(1, 2), remat=("none", "products", "full"), fuse=("off",),
        combine=("on",), optimizer=("adafactor", "sgd"), plan=("auto", "textbook"), head=("off",),
        micro_batches=(2,)), f"""
model: transformer
layers: {draw.randrange(1, 5)}
d-model: {128 * draw.choice((1, 2, 3))}
d-ff: {128 * draw.choice((3, 5, 7))}
heads: {kv * draw.choice((1, 2))}
kv-heads: {kv}
head-dim: {draw.choice((8, 24, 64))}
sequence: {128 * draw.choice((1, 3))}
vocabulary: {640 * draw.choice((1, 3, 5))}
attention: {draw.choice(("causal", "full"))}
tokens-per-chip: {768 * draw.choice((1, 2))}
{experts}"""


def fails(command, done):
    sys.exit(f"round_trip: {' '.join(command)}: {done.stderr}")


def call(words, where):
    command = [icisim, *words, *where]
    return command, subprocess.run(command, capture_output=True, text=True, check=False)


def time_of(words, where):
    """None if it is refused."""
    command, done = call(["run", *words, "--engine", "event", "--csv", "-", "--digits", "17"], where)
    if done.returncode == 2:
        return None
    if done.returncode:
        fails(command, done)
    return next(csv.DictReader(io.StringIO(done.stdout)))["time_s"]


same = refused = 0
while same < rounds:
    chip, shape, sizes = draw.choice(SLICES)
    op, mesh, how, text = draw.choice((product, network, transformer))(sizes)
    where = [f"--chip={chip}", f"--slice={shape}", f"--mesh={mesh}", "--allow-split-physical-axes",
             f"--profile={draw.choice(('spec', 'measured'))}", *options(device_order=("jax", "ring"), ring=("uni", "bidi", "bidi-half"))]
    with open("w.yaml", "w") as file:
        file.write(text)
    want = time_of([op, *how], where)
    if want is None:
        refused += 1
        if refused > 10 * rounds + 100:
            sys.exit(f"round_trip: {refused} are refused, {same} are not")
        continue
    command, done = call(["lower", op, *how], where)
    if done.returncode:
        fails(command, done)
    with open("w.hlo", "w") as file:
        file.write(done.stdout)
    got = time_of(["w.hlo"], where)
    if got != want:
        sys.exit(f"round_trip: {want} s, but what is printed takes {got} s: {' '.join(command)}\n{text}")
    same += 1
print(f"round_trip: {same} of the same time, {refused} were refused")
END

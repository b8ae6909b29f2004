#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast icisim is on this machine: ./dev bench, or bench.py PROGRAM FOLDER [--runs N] [--only PART].

Every figure is the median of N runs (five) of a whole process, with the least and the most beside it; "engine" is
the part of it in which the engine runs, as `icisim run --timing` tells it. Ratios are of processor times, taken in
the same run of this script, so that they say something on a busy machine too. A bar is what the project wants to
reach; nothing fails when it is not reached, for machines differ. FOLDER gets bench.csv, and what ASTRA-sim reads.

--only PART runs one of: unfolded, folded, simgrid, contention, ragged, experts, matmuls, transformers, sweep, instructions,
astra-sim. Where the environment has ASTRA_SIM (astra_sim.py says what it may be), the same all-reduces run there.
--before OTHER runs each command with another build of the program in turn, and prints both.
"""
import argparse
import contextlib
import io
import itertools
import os
import statistics
import sys

import astra_sim
import measure
from figures import Figures

SIZE = ("--size", "1GiB")
EVENT = ("--engine", "event")
REFUSAL_LIMIT_S = 60
ENGINE_FUNCTION = "engine_run_within"
APART_MOST = 1e-3  # of what ASTRA-sim simulates

# All wrap and fold. 16x16x16 is a whole v4 pod, 16x20x28 a whole v5p pod; "three axes at once" is the default.
GROWING = ("4x4x4", "8x8x8", "8x8x16", "8x16x16", "16x16x16", "16x20x28")
# Lengths that sum to 48, from few chips to many: a program of as many steps, so that folded they cost the same.
SAME_SUM = ("4x16x28", "8x12x28", "12x16x20", "16x16x16")


def all_reduce(shape, *more, engine=EVENT, size=SIZE):
    return ("run", "all-reduce", "--chip", "v5p", "--slice", shape, "--ring", "bidi-half", *size, *engine, *more)


def chips(shape):
    count = 1
    for length in shape.split("x"):
        count *= int(length)
    return count


class Bench:
    """What is shared between the parts, and runs that more than one of them looks at."""

    def __init__(self, program, folder, times):
        self.program, self.folder, self.times = program, folder, times
        self.figures = Figures()
        self.known = {}
        self.other = None  # of another build, which runs what this one runs

    def timed(self, *arguments, times=None):
        """A run of the program; the same arguments run once only."""
        if arguments not in self.known:
            builds = [bench for bench in (self, self.other) if bench]
            commands = [[bench.program, *arguments] for bench in builds]
            for bench, runs in zip(builds, measure.in_turn(commands, times or self.times)):
                bench.known[arguments] = runs
        return measure.check([self.program, *arguments], self.known[arguments])

    def run(self, *arguments):
        """A run of the program with --timing."""
        return self.timed(*arguments, "--timing", "--csv", "-")

    def times_of(self, work, runs, process_bar=None, engine_bar=None):
        """The lines that every piece of work has."""
        self.figures.add(work, "process", "s", runs.wall_s, process_bar)
        self.figures.add(work, "process, processor time", "s", runs.cpu_s)
        self.figures.add(work, "engine", "s", runs.engine_s, engine_bar)
        self.figures.add(work, "engine, processor time", "s", runs.engine_cpu_s)

    def rate_of(self, work, runs, bar=None):
        """Transfers by the engine's processor time."""
        transfers = runs.transfers()
        self.figures.add(work, "transfers", "", [transfers])
        rates = [transfers / seconds for seconds in runs.engine_cpu_s]
        return self.figures.add(work, "transfers a second in the engine", "1/s", rates, bar, at_least=True)


def median_ratio(over, under):
    return [statistics.median(over) / statistics.median(under)]


def unfolded(bench):
    """One engine, all chips: the rate, how time grows with transfers, and the memory for each op and chip."""
    folded_peak = statistics.median(bench.run(*all_reduce("16x16x16")).peak_bytes)
    base = bench.run(*all_reduce("16x16x16", "--fold", "off"))
    bars = {"8x8x8": 0.0025, "16x16x16": 0.03}
    for shape in GROWING:
        work = f"all-reduce {shape}, bidi-half, {chips(shape)} chips, fold off"
        runs = bench.run(*all_reduce(shape, "--fold", "off"))
        bench.times_of(work, runs, engine_bar=bars.get(shape))
        bench.rate_of(work, runs)
        pod = shape == GROWING[-1]
        growth = median_ratio(runs.cpu_s, base.cpu_s)
        bench.figures.add(work, "time, over 16x16x16", "x", growth, 5 if pod else None)
        bench.figures.add(work, "peak memory", "B", runs.peak_bytes, 2**30 if pod else None)
        if runs.transfers() > 2e6:  # every op is a send of every chip; for fewer, pages hide it
            each = [(peak - folded_peak) / runs.transfers() for peak in runs.peak_bytes]
            bench.figures.add(work, "memory for each op and chip, and what is in flight", "B", each, 2)


def folded(bench):
    """One chip for all: times that depend on the sum of the axes' lengths, not on the number of chips."""
    bare = bench.timed("--help")
    bench.figures.add("icisim --help", "process", "s", bare.wall_s)
    few = bench.run(*all_reduce(SAME_SUM[0]))
    for shape in (*SAME_SUM, "16x20x28"):
        work = f"all-reduce {shape}, bidi-half, {chips(shape)} chips, folded"
        runs = bench.run(*all_reduce(shape))
        bench.times_of(work, runs, 0.01, 0.003)
        bench.figures.add(work, "transfers", "", [runs.transfers()])
        bench.figures.add(work, "peak memory", "B", runs.peak_bytes)
        if shape in SAME_SUM[1:]:
            growth = median_ratio(runs.engine_cpu_s, few.engine_cpu_s)
            bench.figures.add(work, f"engine's time, over {SAME_SUM[0]} (lengths sum to 48)", "x", growth)
        if shape in ("16x16x16", "16x20x28"):
            whole = bench.run(*all_reduce(shape, "--fold", "off"))
            gain = median_ratio(whole.engine_cpu_s, runs.engine_cpu_s)
            bench.figures.add(work, "engine, unfolded over folded", "x", gain)
            bench.figures.add(work, "process, unfolded over folded", "x", median_ratio(whole.cpu_s, runs.cpu_s))


def simgrid(bench):
    """Both engines on the same program, all chips."""
    shape = "8x8x8"
    work = f"all-reduce {shape}, bidi-half, fold off: event and SimGrid"
    event = bench.run(*all_reduce(shape, "--fold", "off"))
    reference = bench.run(*all_reduce(shape, engine=("--engine", "simgrid")))  # which does not fold
    bench.times_of(work, reference)
    rate = bench.rate_of(work, reference, 40e3)
    rates = [event.transfers() / seconds for seconds in event.engine_cpu_s]
    fast = bench.figures.add(work, "event: transfers a second in the engine", "1/s", rates)
    bench.figures.add(work, "event over SimGrid, engines", "x", [fast / rate])
    there, here = float(reference.row()["time_s"]), float(event.row()["time_s"])
    bench.figures.add(work, "simulated times differ by", "", [abs(there / here - 1)])


def contention(bench):
    """Flows of many links that share them: all at once, alike and folded; and round rings."""
    to_all = ("run", "all-to-all", *SIZE, *EVENT)
    work = "direct all-to-all 8x8x8, ties split, fold off"
    runs = bench.run(*to_all, "--chip", "v5p", "--slice", "8x8x8", "--fold", "off")
    bench.times_of(work, runs, engine_bar=0.5)
    bench.rate_of(work, runs)
    bench.figures.add(work, "peak memory", "B", runs.peak_bytes)
    runs = bench.run(*to_all, "--chip", "v5p", "--slice", "16x16x16")
    bench.times_of("direct all-to-all 16x16x16, folded", runs, 0.2)
    for ring in ("bidi", "bidi-half"):
        work = f"ring all-to-all 16x16x16, {ring}, fold off"
        more = ("--all-to-all", "ring", "--ring", ring, "--fold", "off")
        runs = bench.run(*to_all, "--chip", "v5p", "--slice", "16x16x16", *more)
        bench.times_of(work, runs, engine_bar=0.19 if ring == "bidi" else None)
        bench.rate_of(work, runs)


def ragged(bench):
    """Every pair another size: exactly, within a tolerance, 1,000 draws, and too many chips for a minute."""
    draw = ("ragged-all-to-all", "--chip", "v5p", *SIZE, *EVENT, "--pair-sizes")
    cases = (
        ("4x4x4", None, 0.5),
        ("4x4x8", None, 1),
        ("4x8x8", None, 25),
        ("4x8x8", "1e-2", 0.7),
        ("4x8x8", "1e-3", 4),
        ("8x8x8", "1e-2", 5),
        ("8x8x16", "1e-2", 20),
    )
    for shape, tolerance, bar_s in cases:
        within = f"within {tolerance}" if tolerance else "exactly"
        work = f"ragged all-to-all {shape}, {chips(shape)} chips, {within}"
        more = ("--tolerance", tolerance) if tolerance else ()
        runs = bench.run("run", *draw, "random:1", "--slice", shape, "--time-limit", "0s", *more)
        bench.times_of(work, runs, engine_bar=bar_s)
    seeds = [word for seed in range(1, 1000) for word in ("--pair-sizes", f"random:{seed + 1}")]
    points(bench, "1,000 draws of ragged all-to-alls of 64 chips", (*draw, "random:1", *seeds, "--slice", "4x4x4"), (None, None))
    work = "ragged all-to-all 16x16x16, which is too large"
    runs = measure.Runs()
    measure.run_once([bench.program, "run", *draw, "random:1", "--slice", "16x16x16"], runs, 2 * REFUSAL_LIMIT_S)
    bench.figures.add(work, "until it is given up", "s", runs.wall_s, REFUSAL_LIMIT_S + 5)
    print(f"  {runs.stderr.strip() or f'no reason: exit status {runs.status}'}")


def experts(bench):
    """Whole steps with experts, and a thousand draws of whom their tokens go to."""
    workload = os.path.join(os.path.dirname(__file__), "../../workloads/moe-zipf.yaml")
    runs = bench.timed("run", workload, *EVENT, "--csv", "-")
    bench.figures.add("a step with 64 experts on 8x8, Zipf's law", "process", "s", runs.wall_s)
    runs = bench.timed("run", workload, "--draws", "1000", times=1)
    work = "1000 draws of 65,536 tokens for 64 experts on 8x8"
    bench.figures.add(work, "process", "s", runs.wall_s, 60)
    bench.figures.add(work, "process, processor time", "s", runs.cpu_s)


def matmuls(bench):
    """Products that overlap what they communicate: chains of two, and loops of many steps on many chips."""
    mlp = "bf16[8192@dp,4096@tp] . bf16[4096,16384@tp] . bf16[16384@tp,4096] -> bf16[8192@dp,4096@tp]"
    ring = "bf16[65536@X,4096] . bf16[4096,8192] -> bf16[65536,8192]"
    block = os.path.join(os.path.dirname(__file__), "../../workloads/transformer-block.yaml")
    cases = [
        ("two products, four strategies, 16 chips", ("compare", mlp, "--chip", "v5e", "--slice", "4x4", "--mesh", "dp=4,tp=4")),
        ("two products, four strategies, 256 chips", ("compare", mlp, "--chip", "v5e", "--slice", "16x16", "--mesh", "dp=16,tp=16")),
        ("a transformer's block, four strategies", ("compare", block)),
    ]
    for strategy in ("naive", "uni", "bidi", "bidi-half"):
        many = ("run", ring, "--chip", "v5p", "--slice", "16x16x16", "--mesh", "X=x*y,Y=z", "--strategy", strategy)
        cases.append((f"a loop of 256 steps on 4,096 chips, {strategy}", many))
    chosen = ("run", "bf16[16384,8192@X] . bf16[8192,32768@Y]", "--chip", "v4", "--slice", "16x16x16", "--mesh", "X=16,Y=256")
    cases.append(("the best of four strategies, loops of 16 steps on 4,096 chips", chosen))
    for work, arguments in cases:
        runs = bench.timed(*arguments, *EVENT, "--csv", "-")
        bench.figures.add(work, "process", "s", runs.wall_s, 0.005 if arguments == chosen else 0.03)
        bench.figures.add(work, "process, processor time", "s", runs.cpu_s)
        command = [bench.program, *arguments, *EVENT, "--csv", "-"]
        count = measure.instructions(command)
        if count is not None:
            bench.figures.add(work, "process, instructions", "", [count])


def transformers(bench):
    """Training steps of 80 layers, folded on a whole v5p pod and not folded on 512 chips; and the best of all meshes."""
    model = os.path.join(os.path.dirname(__file__), "../../workloads/by-hand/llama-70b.yaml")
    step = ("run", model, "--chip", "v5p", "--ring", "bidi", "--prefetch", "1", *EVENT)
    pod = ("--slice", "16x20x28", "--mesh", "tp=x,dp=y,fsdp=z", "--tokens-per-chip", "512")
    cube = ("--slice", "8x8x8", "--mesh", "fsdp=x*y,tp=z", "--tokens-per-chip", "2048", "--fold", "off")
    for work, arguments, bar_s in (
        ("80 layers of 70B on 16x20x28, folded", (*step, *pod, "--timing"), 0.5),
        ("80 layers of 70B on 8x8x8, not folded", (*step, *cube, "--timing"), 5),
    ):
        runs = bench.timed(*arguments)
        bench.figures.add(work, "process", "s", runs.wall_s, bar_s)
        bench.figures.add(work, "process, processor time", "s", runs.cpu_s)
        bench.figures.add(work, "peak memory", "B", runs.peak_bytes, 256 * 2**20 if "16x20x28" in work else None)
    for chips, bar_s in (("512", 20), ("8960", 60)):
        search = ("sweep", model, "--chip", "v5p", "--chips", chips, "--mesh", "all", "--top", "10", "-j", "2")
        runs = bench.timed(*search, times=1)
        bench.figures.add(f"the best of all meshes of 70B on {chips} chips", "-j 2: process", "s", runs.wall_s, bar_s)
        bench.figures.add(f"the best of all meshes of 70B on {chips} chips", "-j 2: processor time", "s", runs.cpu_s)


def points(bench, work, arguments, bars):
    """The same sweep by one worker and by two: how long, and the same bytes."""
    rows = []
    for jobs, bar_s in zip((1, 2), bars):
        runs = bench.timed("sweep", *arguments, "-j", str(jobs), "--csv", "-")
        rows.append(runs.stdout)
        count = rows[-1].count("\n") - 1
        bench.figures.add(work, f"-j {jobs}: process", "s", runs.wall_s, bar_s)
        bench.figures.add(work, f"-j {jobs}: process, processor time", "s", runs.cpu_s)
        bench.figures.add(work, f"-j {jobs}: processor time a point", "s", [cpu_s / count for cpu_s in runs.cpu_s])
    bench.figures.add(work, "points", "", [count])
    if rows[0] != rows[1]:
        raise SystemExit(f"bench: -j 1 and -j 2 write other bytes: {work}")


def sweep(bench):
    """Small points, as many as a thousand and a hundred thousand; and all boxes of v5p from 4x4x4 to 16x16x16, which fold,
    some of lines, which do not."""
    small = ("all-reduce", "--chip", "v5p", "--slice", "4x4x4,8x8x8")
    points(bench, "sweep all-reduce 4x4x4 and 8x8x8, 1,000 points", (*small, "--size", "1KiB:500KiB:+1KiB"), (None, None))
    points(bench, "sweep all-reduce 4x4x4 and 8x8x8, 100,000 points", (*small, "--size", "1KiB:50000KiB:+1KiB"), (3, 1.5))
    boxes = itertools.combinations_with_replacement((4, 8, 12, 16), 3)
    lines = ("1x2x2", "2x2x2", "1x4x4", "2x2x4", "2x4x4")
    shapes = ",".join([f"{x}x{y}x{z}" for x, y, z in boxes] + list(lines))
    grid = ("--chip", "v5p", "--slice", shapes, "--ring", "uni,bidi,bidi-half", "--size", "1MiB:134MiB:+1MiB")
    points(bench, "sweep all-reduce: 25 shapes to 4096 chips, 134 sizes, 3 rings", ("all-reduce", *grid), (None, 20))


def instructions(bench):
    """Callgrind: counts that do not depend on what else the machine does."""
    for shape in ("4x4x4", "8x8x8", "16x16x16"):
        work = f"all-reduce {shape}, bidi-half, fold off, by Callgrind"
        arguments = all_reduce(shape, "--fold", "off")
        transfers = bench.run(*arguments).transfers()
        count = measure.instructions([bench.program, *arguments], ENGINE_FUNCTION)
        if count is None:
            print("\nNo Callgrind counts: valgrind is not installed.")
            return
        bench.figures.add(work, "engine, instructions for each transfer", "", [count / transfers], 200)
    for shape in (*SAME_SUM, "16x20x28"):
        work = f"all-reduce {shape}, bidi-half, {chips(shape)} chips, folded, by Callgrind"
        command = [bench.program, *all_reduce(shape)]
        bench.figures.add(work, "engine, instructions", "", [measure.instructions(command, ENGINE_FUNCTION)])
        bench.figures.add(work, "process, instructions", "", [measure.instructions(command)])


def astra(bench):
    """ASTRA-sim's analytical backend on the same all-reduces: its processes, and ours with all chips and with symmetry
    used. Both have to simulate the same thing, or a ratio says nothing; but on a box of unlike axes ours contend."""
    path = os.environ.get("ASTRA_SIM")
    if not path:
        print("\nASTRA-sim is not at hand: build it, and say ASTRA_SIM=path ./dev bench.")
        return
    binary = astra_sim.find(path)
    size_bytes = astra_sim.whole(2**30)
    apart = []
    for shape in ("4x4x4", "8x8x8", "16x16x16", "16x20x28"):
        work = f"all-reduce {shape} of {size_bytes} B in ASTRA-sim"
        folder = f"{bench.folder}/astra-sim-{shape}"
        # v5p's links: 90 GB/s one way, 1 us
        arguments = astra_sim.write(folder, [int(n) for n in shape.split("x")], size_bytes, 90e9, 1e-6)
        theirs = measure.run([binary, *arguments], bench.times, folder)
        simulated_s = astra_sim.simulated_s(theirs.stdout)
        if not simulated_s:
            raise SystemExit(f"bench: {binary} says no end:\n{theirs.stdout}")
        bench.figures.add(work, "process", "s", theirs.wall_s)
        bench.figures.add(work, "process, processor time", "s", theirs.cpu_s)
        for fold, what in (("off", "all chips"), ("on", "by symmetry")):
            ours = bench.run(*all_reduce(shape, "--fold", fold, size=("--size", f"{size_bytes}B")))
            ours_s = float(ours.row()["time_s"])
            ratio = median_ratio(theirs.cpu_s, ours.cpu_s)
            bench.figures.add(work, f"ASTRA-sim over icisim, {what}", "x", ratio)
        off = abs(simulated_s / ours_s - 1)
        exempt = len(set(shape.split("x"))) > 1
        bench.figures.add(work, "simulated time there", "s", [simulated_s])
        bench.figures.add(work, "simulated time here", "s", [ours_s])
        bench.figures.add(work, "simulated times differ by", "", [off], None if exempt else APART_MOST)
        if off > APART_MOST and not exempt:
            apart.append(shape)
    print(f"  it read {bench.folder}/astra-sim-*: network.yml, system.json, memory.json, Chakra traces")
    if apart:
        raise SystemExit(f"bench: ASTRA-sim and icisim do not simulate the same thing on {', '.join(apart)}")


PARTS = {
    "unfolded": unfolded,
    "folded": folded,
    "simgrid": simgrid,
    "contention": contention,
    "ragged": ragged,
    "experts": experts,
    "matmuls": matmuls,
    "transformers": transformers,
    "sweep": sweep,
    "instructions": instructions,
    "astra-sim": astra,
}


def medians_of(part, bench):
    """What a part has for another build; of one that cannot do all of it, what it got to."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            part(bench)
        except SystemExit as refused:
            print(f"before: {refused}".splitlines()[0], file=sys.stderr)
            bench.other.other = None
    return bench.figures.medians()


def main():
    parser = argparse.ArgumentParser(description="How fast icisim is on this machine.")
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=5, help="of which medians are taken; default: 5")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--before", metavar="OTHER", help="another build, for a table of both")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    bench = Bench(os.path.abspath(options.program), os.path.abspath(options.folder), max(1, options.runs))
    print(f"# medians of {bench.times}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    bench.figures.heading(options.before)
    for name, part in PARTS.items():
        if options.only not in (None, name):
            continue
        if options.before:
            bench.other = Bench(os.path.abspath(options.before), bench.folder, bench.times)
            bench.other.other = bench
            bench.figures.before |= medians_of(part, bench.other)
        part(bench)
    path = f"{options.folder}/bench.csv"
    bench.figures.write(path)
    print(f"bench: all figures are in {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

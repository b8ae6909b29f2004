# SPDX-License-Identifier: GPL-3.0-or-later
"""The same all-reduce in ASTRA-sim's analytical backend, where the user has built that.

ASTRA_SIM is its binary, or the folder of its checkout, in which the congestion-unaware binary is taken: the
congestion-aware one knows networks of one dimension only. Written for it, after the examples of its repository:

    network.yml            a ring for each axis; its GB/s are 2^30 bytes/s
    system.json            ring algorithms on every axis; six splits, as bidi-half has six parts of the array, all at
                           work at once; no time for local memory
    memory.json            no remote memory
    all_reduce.N.et        Chakra execution traces, one node each (protobuf, encoded below)
"""
import json
import os
import re

BINARY = "build/astra_analytical/build/bin/AstraSim_Analytical_Congestion_Unaware"
RINGS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
SPLITS = 6
ENDPOINT_DELAY_S = 10e-9


def find(path):
    binary = os.path.abspath(os.path.join(path, BINARY) if os.path.isdir(path) else path)
    if not os.access(binary, os.X_OK):
        raise SystemExit(f"bench: ASTRA_SIM: {binary} is no program; name the binary or the folder of the checkout")
    return binary


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes((value,))


def number(tag, value):
    return varint(tag << 3) + varint(value)


def block(tag, data):
    return varint(tag << 3 | 2) + varint(len(data)) + data


def message(data):
    return varint(len(data)) + data


def trace(size_bytes, axes):
    """Chakra's et_def.proto: GlobalMetadata {version = 1}, then a Node {id = 1, name = 2, type = 3, attr = 10}
    with AttributeProto {name = 1, int64_val = 9, bool_val = 27, bool_list = 28 {values = 1}}. COMM_COLL_NODE
    is 7, ALL_REDUCE 0."""
    attributes = (
        block(1, b"is_cpu_op") + number(27, 0),
        block(1, b"comm_type") + number(9, 0),
        block(1, b"comm_size") + number(9, size_bytes),
        block(1, b"involved_dim") + block(28, block(1, b"\x01" * axes)),
    )
    node = number(1, 1) + block(2, b"all-reduce") + number(3, 7) + b"".join(block(10, a) for a in attributes)
    return message(block(1, b"0.0.4")) + message(node)


def whole(size_bytes):
    """The largest size up to this one that its splits divide: it would round up each of them, and send more than we do."""
    return size_bytes // SPLITS * SPLITS


def write(folder, shape, size_bytes, link_Bps, hop_latency_s):
    """Writes all files; returns the arguments of the command. A step costs its latency and the endpoint's delay."""
    os.makedirs(folder, exist_ok=True)
    each = len(shape)
    chips = 1
    for length in shape:
        chips *= length
    with open(f"{folder}/network.yml", "w", encoding="utf-8") as file:
        file.write(f"topology: [ {', '.join(['Ring'] * each)} ]\n")
        file.write(f"npus_count: [ {', '.join(map(str, shape))} ]\n")
        file.write(f"bandwidth: [ {', '.join([repr(link_Bps / 2**30)] * each)} ]  # GB/s of 2^30 bytes\n")
        file.write(f"latency: [ {', '.join([repr((hop_latency_s - ENDPOINT_DELAY_S) * 1e9)] * each)} ]  # ns\n")
    system = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": round(ENDPOINT_DELAY_S * 1e9),
        "active-chunks-per-dimension": SPLITS,
        "preferred-dataset-splits": SPLITS,
        **{f"{name}-implementation": ["ring"] * each for name in RINGS},
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1e9,
        "boost-mode": 0,
        "roofline-enabled": 1,
        "peak-perf": 900,
    }
    for name, content in (("system", system), ("memory", {"memory-type": "NO_MEMORY_EXPANSION"})):
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
    encoded = trace(size_bytes, each)
    for chip in range(chips):
        with open(f"{folder}/all_reduce.{chip}.et", "wb") as file:
            file.write(encoded)
    return [
        f"--workload-configuration={folder}/all_reduce",
        f"--system-configuration={folder}/system.json",
        f"--network-configuration={folder}/network.yml",
        f"--remote-memory-configuration={folder}/memory.json",
    ]


def simulated_s(stdout):
    """The last end that it reports; a cycle is a nanosecond."""
    cycles = [int(found) for found in re.findall(r"finished, (\d+) cycles", stdout)]
    return max(cycles) * 1e-9 if cycles else None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command several times and says what each run took. Seconds and bytes, as everywhere."""
import csv
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Runs:
    """The same command, several times: a list of samples for each quantity, and what it printed last."""

    status: int = 0
    stdout: str = ""
    stderr: str = ""
    wall_s: list = field(default_factory=list)
    cpu_s: list = field(default_factory=list)
    engine_s: list = field(default_factory=list)
    engine_cpu_s: list = field(default_factory=list)
    peak_bytes: list = field(default_factory=list)

    def row(self):
        """The first row of the CSV that the program wrote."""
        return next(csv.DictReader(self.stdout.splitlines()))

    def transfers(self):
        return int(self.row()["transfers"])


def run_once(command, runs, limit_s=None, folder=None):
    """The whole process, by the clock and by the processors; its children are counted when they have ended.
    After the limit it is killed. What it writes beside itself gets into the folder."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder)
        alarm = threading.Timer(limit_s, process.kill) if limit_s else None
        if alarm:
            alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        if alarm:
            alarm.cancel()
        runs.wall_s.append(time.monotonic() - began)
        process.returncode = os.waitstatus_to_exitcode(status)
        runs.cpu_s.append(usage.ru_utime + usage.ru_stime)
        out.seek(0)
        err.seek(0)
        runs.status, runs.stdout, runs.stderr = process.returncode, out.read(), err.read()
    # what icisim run --timing says of itself
    timing = dict(re.findall(r"(\w+)=([0-9.]+)", (re.findall(r"^# timing: .*", runs.stderr, re.M) or [""])[0]))
    for name in ("engine_s", "engine_cpu_s", "peak_bytes"):
        if name in timing:
            getattr(runs, name).append(float(timing[name]))
    if runs.engine_cpu_s and runs.engine_cpu_s[-1] == 0:  # less than the processor's clock tells: at most what it took
        runs.engine_cpu_s[-1] = runs.engine_s[-1]


def run(command, times, folder=None):
    """Runs a command so many times; one that fails is an error."""
    return check(command, in_turn([command], times, folder)[0])


def in_turn(commands, times, folder=None):
    """Runs several commands so many times, one after the other each time, so that what else the machine does befalls all
    of them alike; one that fails no more."""
    all_runs = [Runs() for _ in commands]
    for _ in range(times):
        for command, runs in zip(commands, all_runs):
            if runs.status == 0:
                run_once(command, runs, folder=folder)
    return all_runs


def check(command, runs):
    if runs.status != 0:
        raise SystemExit(f"bench: exit status {runs.status} of: {' '.join(command)}\n{runs.stderr}")
    return runs


def instructions(command, function=None):
    """Instructions by Callgrind, of the whole process or of one function; None without valgrind. They do not
    depend on what else the machine does, nor on how fast it is."""
    if not shutil.which("valgrind"):
        return None
    with tempfile.TemporaryDirectory() as scratch:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out"]
        if function:
            tool.append(f"--toggle-collect={function}")
        done = subprocess.run(tool + command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"bench: valgrind failed on {' '.join(command)}\n{done.stderr}")
    return int(found.group(1))

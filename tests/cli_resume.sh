#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep that is killed again and again, by any signal, its first process alone or all of them, goes on with --resume and
# ends with the bytes of one that nobody disturbed. ICISIM_KILLS says how often.
set -eu
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
exec python3 - "$program" "${ICISIM_KILLS:-12}" <<'END'
import os
import random
import signal
import subprocess
import sys
import time

program, kills = sys.argv[1], int(sys.argv[2])
mark = f"ICISIM_KILLS_TEST={os.getpid()}"
# SimGrid's processes are the workers' children. The last ring is what the others compare with.
arguments = [program, "sweep", "all-gather", "reduce-scatter", "--slice", "4x4,8x8", "--size", "1KiB:16KiB:+1KiB",
             "--ring", "bidi-half,bidi,uni", "--engine", "event,simgrid", "-j", "3"]
rng = random.Random(20251122)
failed = False


def fail(text):
    global failed
    failed = True
    print(text)


def left():
    """Processes that were started here and are still running."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/stat") as stat:
                if mark.encode() in environ.read() and stat.read().split()[2] != "Z":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def start(path, *more):
    environ = dict([mark.split("=")], **os.environ)
    # LeakSanitizer waits for ever for its own child where that is the one killed
    environ["ASAN_OPTIONS"] = environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return subprocess.Popen([*arguments, "--csv", path, *more], env=environ, start_new_session=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def rows(path):
    with open(path, "rb") as file:
        return file.read()


began = time.monotonic()
first = start("want.csv")
said = first.communicate()[1].decode()
if first.returncode != 0:
    sys.exit(f"the sweep itself: {said}")
took_s = time.monotonic() - began
want = rows("want.csv")

done = sweeps = longest_s = 0
while done < kills:
    sweeps += 1
    path, before = f"out{sweeps}.csv", 0
    while done < kills:
        process = start(path, "--resume")
        time.sleep(rng.random() * took_s * 0.6)
        number = rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE])
        ended = process.poll() is not None
        if not ended:
            os.killpg(process.pid, number) if rng.random() < 0.5 else os.kill(process.pid, number)
            done += 1
        said = process.communicate()[1].decode()
        killed = time.monotonic()
        while left() and time.monotonic() < killed + 60:  # a busy machine takes its time
            time.sleep(0.01)
        longest_s = max(longest_s, time.monotonic() - killed)
        if left():
            fail(f"{number!r}: still running after a minute: {left()}")
            for pid in left():
                os.kill(pid, signal.SIGKILL)
        got = rows(path) if os.path.exists(path) else b""
        whole = got[: got.rfind(b"\n") + 1]
        if not want.startswith(whole):
            fail(f"{number!r}: rows that an undisturbed sweep does not have")
        if len(whole) < before:
            fail(f"{number!r}: {before - len(whole)} bytes of rows are lost")
        before = len(whole)
        if process.returncode == 130 and "--resume goes on" not in said:
            fail(f"SIGINT does not say how to go on: {said}")
        if process.returncode not in (0, 130, -number) or (process.returncode in (0, -number) and said):
            fail(f"{number!r}: exit {process.returncode}: {said}")
        if process.returncode == 0:
            break
    subprocess.run([*arguments, "--csv", path, "--resume"], check=True)
    if rows(path) != want:
        fail(f"{path}: other bytes than an undisturbed sweep's")
# Workers and engines that are killed one by one: their points are tried again. One that is killed twice has a row that says so,
# and --resume goes on from it.
process = start("children.csv")
while process.poll() is None:
    for pid in left():
        if pid != process.pid and rng.random() < 0.2:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    time.sleep(0.02)
said = process.communicate()[1].decode()
lost = rows("children.csv").count(b"killed by signal 9")
if process.returncode != (1 if lost else 0) or rows("children.csv").count(b"\n") != want.count(b"\n"):
    fail(f"children that are killed: exit {process.returncode}, {lost} rows say so: {said}")
subprocess.run([*arguments, "--csv", "children.csv", "--resume"], check=True)
if rows("children.csv") != want:
    fail("children that are killed: other rows after --resume")
print(f"{done} kills, {lost} rows of killed children, {sweeps} sweeps of {want.count(10) - 1} rows; the last process ended after {longest_s:.2f} s at most")
sys.exit(failed)
END

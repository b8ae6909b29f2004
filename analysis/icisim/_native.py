# SPDX-License-Identifier: GPL-3.0-or-later
"""libicisim by ctypes, and the program beside it.

Both lie in the folder `native` of the package. ICISIM_NATIVE names another one, such as a build folder.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

NATIVE = Path(os.environ.get("ICISIM_NATIVE") or Path(__file__).parent / "native").resolve()
PROGRAM = NATIVE / "icisim"


class Error(Exception):
    """What went wrong, in one line that says what would be right, and the command that does the same.

    Attributes
    ----------
    text : str
        The line that the program prints.
    command : str
        The program's command line, "" where there is none.
    """

    def __init__(self, text: str, command: str = "") -> None:
        super().__init__(text, command)
        self.text, self.command = text, command

    def __str__(self) -> str:
        return f"{self.text}\n  in: {self.command}" if self.command else self.text


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 640)]


_TEXT, _HANDLE, _INT, _STATUS = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Status)
_REAL = ctypes.POINTER(ctypes.c_double)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (_TEXT, []),
    "point_new": (_HANDLE, [_STATUS]),
    "point_free": (None, [_HANDLE]),
    "point_set": (_INT, [_HANDLE, _TEXT, _TEXT, _STATUS]),
    "point_read": (_INT, [_HANDLE, _TEXT, _STATUS]),
    "point_run": (_HANDLE, [_HANDLE, _STATUS]),
    "point_write": (_INT, [_HANDLE, _TEXT, _TEXT, _STATUS]),
    "point_text": (_HANDLE, [_HANDLE, _TEXT, _STATUS]),
    "point_cancel": (None, [_HANDLE]),
    "point_progress": (ctypes.c_double, [_HANDLE]),
    "option_name": (_TEXT, [_INT]),
    "option_help": (_TEXT, [_INT]),
    "option_values": (_TEXT, [_INT]),
    "result_free": (None, [_HANDLE]),
    "result_real": (_INT, [_HANDLE, _TEXT, _REAL, _STATUS]),
    "result_text": (_TEXT, [_HANDLE, _TEXT, _STATUS]),
    "column_name": (_TEXT, [_INT]),
    "column_meaning": (_TEXT, [_INT]),
    "column_is_text": (_INT, [_INT]),
    "chip_new": (_HANDLE, [_TEXT, _TEXT, _STATUS]),
    "chip_free": (None, [_HANDLE]),
    "chip_hbm_bytes": (ctypes.c_double, [_HANDLE]),
    "chip_cores": (_INT, [_HANDLE]),
    "slice_new": (_HANDLE, [_HANDLE, _STATUS]),
    "slice_free": (None, [_HANDLE]),
    "slice_chips": (_INT, [_HANDLE]),
    "slice_axes": (_INT, [_HANDLE]),
    "slice_length": (_INT, [_HANDLE, _INT]),
    "slice_wraps": (_INT, [_HANDLE, _INT]),
    "slice_coordinate": (_INT, [_HANDLE, _INT, _INT]),
    "slice_chip": (_INT, [_HANDLE, _INT]),
    "slice_mapping": (_TEXT, [_HANDLE]),
}


@functools.cache
def library() -> ctypes.CDLL:
    """libicisim; ctypes releases the GIL around each call."""
    path = NATIVE / "libicisim.so"
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as why:
        raise Error(f"cannot load libicisim: {why}; pip install . builds it, or ICISIM_NATIVE names its folder") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, "icisim_" + name)
        function.restype, function.argtypes = result, arguments
    return loaded


def _table(name: str, *columns: str) -> list[tuple[Any, ...]]:
    lib, rows, index = library(), [], 0
    while (key := getattr(lib, f"icisim_{name}_name")(index)) is not None:
        rest = [getattr(lib, f"icisim_{name}_{column}")(index) for column in columns]
        rows.append((key.decode(), *[value.decode() if isinstance(value, bytes) else value for value in rest]))
        index += 1
    return rows


@functools.cache
def option_table() -> dict[str, tuple[str, str | None]]:
    """Of each option of a point, in the order of a sweep's grid: a line of help, and the words it may have."""
    return {name: (text, values) for name, text, values in _table("option", "help", "values")}


@functools.cache
def column_table() -> dict[str, tuple[str, bool]]:
    """Of each column of a result: what it means, and whether it holds text."""
    return {name: (meaning, bool(is_text)) for name, meaning, is_text in _table("column", "meaning", "is_text")}


def command_line(command: str, options: Mapping[str, str], *more: str) -> list[str]:
    """The arguments of the program that do what options say."""
    line = [command] + ([options["op"]] if "op" in options else [])
    for name, text in options.items():
        line += [] if name == "op" else [f"--{name}", text]
    return line + list(more)


def shown(line: Sequence[str]) -> str:
    return shlex.join(["icisim", *line])


class Point:
    """A handle on a point; `with_point` lets Ctrl-C cancel its calls that may take long."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.lib, self.status, self.options = library(), Status(), options
        self.handle = self.lib.icisim_point_new(self.status)
        if not self.handle:
            self.fail()
        for name, text in options.items():
            if name != "op" or not is_workload(text):
                self.check(self.lib.icisim_point_set(self.handle, name.encode(), os.fsencode(text), self.status))
        if is_workload(options.get("op", "")):
            self.check(self.lib.icisim_point_read(self.handle, os.fsencode(options["op"]), self.status))

    def fail(self) -> None:
        raise Error(self.status.text.decode(errors="replace"), shown(command_line("run", self.options)))

    def check(self, code: int) -> None:
        if code < 0:
            self.fail()

    def columns(self) -> dict[str, Any]:
        """Simulates; all columns of the result, None where one does not apply."""
        result = self.lib.icisim_point_run(self.handle, self.status)
        if not result:
            self.fail()
        value, columns, unused = ctypes.c_double(), {}, Status()
        for name, (_, is_text) in column_table().items():
            if is_text:
                columns[name] = self.lib.icisim_result_text(result, name.encode(), unused).decode() or None
            else:
                self.lib.icisim_result_real(result, name.encode(), value, unused)
                columns[name] = None if value.value != value.value else value.value
        self.lib.icisim_result_free(result)
        return columns

    def write(self, what: str, path: str) -> None:
        self.check(self.lib.icisim_point_write(self.handle, what.encode(), os.fsencode(path), self.status))

    def text(self, what: str) -> str:
        """What `write` would write."""
        text = self.lib.icisim_point_text(self.handle, what.encode(), self.status)
        if not text:
            self.fail()
        try:
            return ctypes.string_at(text).decode()
        finally:
            _libc().free(text)

    def free(self) -> None:
        self.lib.icisim_point_free(self.handle)
        self.handle = None


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    return libc


@functools.cache
def chip_memory(chip: str, profile: str = "spec") -> tuple[float, int]:
    """A chip's HBM in bytes, and the JAX devices that share it."""
    lib, status = library(), Status()
    handle = lib.icisim_chip_new(os.fsencode(chip), profile.encode(), status)
    if not handle:
        raise Error(status.text.decode())
    found = lib.icisim_chip_hbm_bytes(handle), lib.icisim_chip_cores(handle)
    lib.icisim_chip_free(handle)
    return found


class Slice:
    """The box of chips of a point, with its mesh.

    Attributes
    ----------
    shape : tuple of int
    wrap : tuple of bool
        Axes whose ends are joined, as the chip is built.
    order : list of tuple of int
        Coordinates of each device of the mesh, row by row.
    mapping : str
        How the mesh lies: "dp on x, tp on y*z".
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        point = Point(options)
        lib, slice_ = point.lib, point.lib.icisim_slice_new(point.handle, point.status)
        try:
            if not slice_:
                point.fail()
            axes = range(lib.icisim_slice_axes(slice_))
            self.shape = tuple(lib.icisim_slice_length(slice_, axis) for axis in axes)
            self.wrap = tuple(bool(lib.icisim_slice_wraps(slice_, axis)) for axis in axes)
            chips = [lib.icisim_slice_chip(slice_, device) for device in range(lib.icisim_slice_chips(slice_))]
            self.order = [tuple(lib.icisim_slice_coordinate(slice_, chip, axis) for axis in axes) for chip in chips]
            self.mapping = lib.icisim_slice_mapping(slice_).decode()
        finally:
            lib.icisim_slice_free(slice_)
            point.free()


def is_workload(op: str) -> bool:
    return op.endswith((".yaml", ".yml", ".json"))


def is_seen() -> bool:
    """Does someone look: a terminal, or a notebook?"""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def progress_bar(**options: Any) -> Any:
    """A bar where someone looks and tqdm is installed, else None."""
    if not is_seen():
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(**options)


def in_thread(call: Callable[[], Any], cancel: Callable[[], Any] = lambda: None, tick: Callable[[float], Any] = lambda spent_s: None) -> Any:
    """call(), such that Ctrl-C ends it at once: a signal only reaches Python between two calls of C, so that the call is made by
    a thread, and the main thread waits for it and can cancel it."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((True, call()))
        except BaseException as fault:
            outcome.append((False, fault))
        ended.set()

    ended, began = threading.Event(), time.monotonic()  # a thread whose join() was interrupted says that it is not alive
    threading.Thread(target=run, daemon=True).start()
    try:
        while not ended.wait(0.1):  # a signal that the system gave to another thread is seen then
            tick(time.monotonic() - began)
    except BaseException:
        cancel()
        atexit.register(_leave, ended)
        raise
    well, value = outcome[0]
    if well:
        return value
    raise value


def _leave(ended: threading.Event) -> None:
    """Ends the process without taking down what a thread of XLA still uses, which would crash."""
    if not ended.wait(0.2):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + signal.SIGINT)


def with_point(options: Mapping[str, str], what: Callable[[Point], Any]) -> Any:
    """what(point), with a bar of what takes long."""
    points: list[Point] = []
    bars: list[Any] = []

    def cancel() -> None:
        for point in points:
            if point.handle:
                point.lib.icisim_point_cancel(point.handle)

    def tick(spent_s: float) -> None:
        if spent_s > 3 and not bars:
            bars.append(progress_bar(total=100, desc="simulation", unit="%", leave=False))
        for point in points if bars and bars[0] is not None else ():
            bars[0].n = round(100 * point.lib.icisim_point_progress(point.handle))
            bars[0].refresh()

    try:
        return in_thread(lambda: _use(options, what, points), cancel, tick)
    finally:
        for one in bars:
            if one is not None:
                one.close()


def _use(options: Mapping[str, str], what: Callable[[Point], Any], points: list[Point]) -> Any:
    point = Point(options)
    points.append(point)
    try:
        return what(point)
    finally:
        points.remove(point)
        point.free()


def program(*arguments: str | os.PathLike[str], quiet: bool = True) -> str:
    """What the program prints: `icisim.program("topology", "show", "--slice", "4x4")`.

    Parameters
    ----------
    *arguments : str or path
        As on the command line.
    quiet : bool
        Keep what it says of its progress on stderr to itself; else it goes to stderr as it comes, and in a notebook to a bar.

    Returns
    -------
    str
        Its stdout.

    Raises
    ------
    Error
        With the line that it prints.
    """
    line = [os.fspath(argument) for argument in arguments]
    bar = None if quiet or sys.stderr.isatty() else progress_bar(total=0, desc=line[0], delay=1)
    if bar is not None:
        code, stdout, stderr = _followed([os.fspath(PROGRAM), *line], bar)
    else:
        done = subprocess.run([PROGRAM, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE if quiet else None, text=True)
        code, stdout, stderr = done.returncode, done.stdout, done.stderr
    if code:
        said = (stderr or "see above").strip().splitlines() or [f"ended with {code}"]
        raise Error(said[-1].removeprefix("icisim: "), shown(line))
    return stdout


def _followed(line: list[str], bar: Any) -> tuple[int, str, str]:
    """Runs the program with a terminal as stderr, and moves a bar of the notebook as its own moves there."""
    import pty
    import re

    ours, theirs = pty.openpty()
    said: list[str] = []

    def follow() -> None:
        try:
            while text := os.read(ours, 4096).decode(errors="replace"):
                said.append(text)
                for done, total in re.findall(r"(\d+)/(\d+) points", text)[-1:]:
                    bar.n, bar.total = int(done), int(total)
                    bar.refresh()
        except OSError:
            pass  # the other end is closed

    with bar, subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        reader = threading.Thread(target=follow, daemon=True)
        reader.start()
        try:
            stdout, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
        reader.join()
    os.close(ours)
    return process.returncode, stdout, "".join(said).replace("\r", "\n")

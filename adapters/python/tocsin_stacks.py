"""Lets tocsin take the stacks of this process where py-spy is not installed (docs/trace.md, "How a stack is taken").

On SIGURG, faulthandler of CPython writes the stack of the main thread to a file in memory. The recorder finds this file among the open
files of the process, and sends the signal only if the first line says that it belongs to this process. A process that does not
catch SIGURG ignores it, so a signal that comes too late, after an exec, ends nothing.
"""

import contextlib
import faulthandler
import fcntl
import os
import signal
import sys

_file = None     # its descriptor


def register():
    """Once in each process. A program that has a handler for SIGURG, or ignores it, keeps that."""
    if _file is None:
        try:
            if _in_use():
                raise RuntimeError("the program uses SIGURG")
            _register()
        except Exception as error:      # nothing here ends a training
            with contextlib.suppress(Exception):
                sys.stderr.write(f"tocsin: stacks need py-spy here: {type(error).__name__}: {error}\n")
                sys.stderr.flush()


def _register():
    global _file
    with open("/proc/self/stat", "rb") as stat:
        start = int(stat.read().rpartition(b")")[2].split()[19])
    file = os.memfd_create("tocsin-stacks")      # an exec closes it
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)      # the recorder empties it before each signal
        os.write(file, b"%d %d %d\n" % (os.getpid(), start, file))
        faulthandler.register(signal.SIGURG, file=file, all_threads=False, chain=False)      # threads that run while they are printed crash it
    except BaseException:
        os.close(file)
        raise
    _file = file


def _in_use():
    """Whether anything in this process, libraries included, catches or ignores SIGURG."""
    with open("/proc/self/status") as status:
        masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigIgn:", "SigCgt:"))]
    return any(mask >> (signal.SIGURG - 1) & 1 for mask in masks)


def _forget():
    """A child that was forked has the handler and the file of its parent. An exec closes the file."""
    global _file
    if _file is not None:
        faulthandler.unregister(signal.SIGURG)
        _file = None


os.register_at_fork(after_in_child=_forget)

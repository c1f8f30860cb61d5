# Runs a node's Patroni (the arguments) and adopts what that leaves behind: a
# postmaster outlives its Patroni on purpose, and would become init's child,
# where nobody could tell to which node it belongs.
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
patroni = subprocess.Popen(sys.argv[1:])


def stop(*_):
    patroni.terminate()  # it stops its postmaster first


def crash(*_):
    patroni.kill()
    with open('/proc/self/task/%d/children' % os.getpid()) as children:
        for pid in children.read().split():
            os.kill(int(pid), signal.SIGQUIT)


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGQUIT, crash)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break  # nothing of the node is left

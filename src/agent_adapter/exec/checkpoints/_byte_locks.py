"""Locks on single bytes of a file that the kernel frees when the process that holds them ends.

Linux has them per open file, which survive that somebody else in this process opens and closes the same file; other
systems have POSIX locks, which do not, so the file must never be opened twice there.
"""

import errno
import os
import struct
import sys

# struct flock of 64-bit Linux: type, whence, start, length, pid. For open file locks the pid must be 0.
_FLOCK = struct.Struct("hhqqi4x")
_PER_OPEN_FILE = sys.platform == "linux" and sys.maxsize > 2**32


def hold(descriptor: int, byte: int) -> None:
    """Nothing, once this process holds the byte; it is freed when the descriptor or the process is gone.

    Raises:
        OSError: somebody else holds it, or the file system has no such locks.
        ImportError: the system has no such locks.
    """
    import fcntl

    if _PER_OPEN_FILE:
        wanted = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
        except OSError as exc:
            if exc.errno != errno.EINVAL:
                raise
        else:
            return
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)


def is_held(descriptor: int, byte: int) -> bool:
    """Whether another process holds the byte.

    Raises:
        OSError: the file system cannot say.
        ImportError: the system has no such locks.
    """
    import fcntl

    if _PER_OPEN_FILE:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, asked)
        return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return True
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)
    return False

"""Whether a SQLite database is in use."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from api.kit.storage.store import StoreUnavailable


def is_in_use(path: Path) -> bool:
    """Whether a connection has the database open. In WAL mode, each holds a lock on the file until it is closed."""
    probe = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)
    try:
        probe.execute("PRAGMA locking_mode = EXCLUSIVE")
        probe.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return True
        raise StoreUnavailable(f"cannot open the database {path}: {error}") from error
    finally:
        probe.close()
    return False

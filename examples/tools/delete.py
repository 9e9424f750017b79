"""Delete a data set: a folder below data/records, and never anything else."""

from __future__ import annotations

import shutil
from pathlib import Path

from kit import DATA, Call, Failed, Receipt, of_document, once, serve, text

ROOT = DATA / "records"


@once
def execute(call: Call) -> Receipt:
    """Delete the folder `path` names; what is not there needs no deleting."""
    folder = below_root(text(call, "path"))
    leaving = folder.with_name(f".leaving-{of_document(call)}")
    if folder.is_dir() and not leaving.exists():
        folder.rename(leaving)  # at once, so that a repeat finds what an interrupted run left
    files = [file for file in leaving.rglob("*") if not file.is_dir()] if leaving.exists() else []
    if leaving.exists():
        shutil.rmtree(leaving)
    return {"path": str(folder), "affected_records": len(files), "effects": ["delete"]}


def below_root(path: str) -> Path:
    """Return the real folder, all links followed, which must lie below the root."""
    root, folder = ROOT.resolve(), Path(path).resolve()
    if root == folder or root not in folder.parents or Path(path).is_symlink():
        raise Failed(f"only folders below {ROOT} can be deleted")
    if folder.exists() and not folder.is_dir():
        raise Failed("this is a file; a data set is a folder")
    return folder


serve({"execute": execute})

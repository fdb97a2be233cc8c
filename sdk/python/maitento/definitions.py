"""Which files of a folder a deploy sends. What is in them is the daemon's business alone."""

from __future__ import annotations

import os
import pathlib

from maitento.errors import DefinitionInvalidError, Diagnostic

FILE_LIMIT = 1 << 20  # bytes
FILES_LIMIT = 10_000


def collect_definitions(folder: str | os.PathLike[str]) -> list[dict[str, str]]:
    """`{path, content}` of every definition in `folder` (*.mtr, *.mtc and their like), hidden ones left out. Data
    beside them is no business of a deploy, and kinds that are not supported are only named. ValueError for a folder
    without capsules/*.mtr; DefinitionInvalidError, with the place, for text that is not UTF-8."""
    root = pathlib.Path(folder)
    if not root.is_dir():
        raise ValueError(f"{root} is not a folder")
    files = []
    for path in _definitions_below(root):
        name = path.relative_to(root).as_posix()
        files.append({"path": name, "content": _read(path, name) if _is_supported(name) else ""})
        if len(files) > FILES_LIMIT:
            raise ValueError(f"{root} has more than {FILES_LIMIT} definitions")
    if not any(_is_supported(file["path"]) for file in files):
        raise ValueError(f"there is no capsules/*.mtr in {root}; a deploy takes the folder that has the folder "
                         "capsules in it")
    return sorted(files, key=lambda file: file["path"])


def _definitions_below(root: pathlib.Path) -> list[pathlib.Path]:
    def stop(error: OSError) -> None:
        raise error  # os.walk() would leave out what it may not read

    found = []
    for place, folders, names in os.walk(root, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [pathlib.Path(place, name) for name in names if not name.startswith(".")]
        found += [path for path in paths if len(path.suffix) == 4 and path.suffix.startswith(".mt") and path.is_file()]
    return found


def _is_supported(name: str) -> bool:
    return name.startswith("capsules/") and name.endswith(".mtr")


def _read(path: pathlib.Path, name: str) -> str:
    with open(path, "rb") as file:
        data = file.read(FILE_LIMIT + 1)
    if len(data) > FILE_LIMIT:
        raise ValueError(f"{path} is larger than 1 MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[:error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        finding = Diagnostic(name, line, column, "", "the text is not UTF-8")
        raise DefinitionInvalidError("a definition is not valid; nothing was sent", kind="definition-invalid",
                                     errors=[finding]) from None

"""The C++ files of the project, for the structure checks."""

import pathlib
import re

FOLDERS = ("protocol", "guest-agent", "host", "sdk", "tests")


def sources(root):
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(root, folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp"):
                yield path.relative_to(root), path.read_text()


def without_comments_and_strings(text):
    """Same length and lines; comments and the insides of literals become spaces."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)

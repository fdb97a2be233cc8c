#!/usr/bin/env python3
"""Programs against the TypeScript SDK: a folder in which they are compiled as strictly as the SDK itself.
`project.py PACKAGE` checks the types of everything there is: the guide's examples and the programs of the VM tests."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SDK = ROOT / "sdk" / "typescript"
GUIDE = ROOT / "docs" / "sdk-typescript.md"


def missing_tools():
    """Why nothing can be compiled or run here; empty if it can."""
    return ", ".join(f"there is no {tool} (Debian: {package})"
                     for tool, package in (("tsc", "node-typescript"), ("node", "nodejs")) if not shutil.which(tool))


def guide_examples():
    """The guide's programs in their order, name -> text."""
    blocks = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", GUIDE.read_text(), re.M | re.S)
    return {title.lower().replace(" ", "-"): text
            for title, body in blocks for text in re.findall(r"^```ts\n(.*?)^```$", body, re.M | re.S)}


def tsc(*arguments, cwd=None):
    done = subprocess.run(["tsc", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"tsc: {done.stdout}{done.stderr}"


def compile_package(folder):
    """The package as it is installed, made from the sources."""
    tsc("--project", SDK, "--outDir", folder / "dist")
    shutil.copy(SDK / "package.json", folder)
    return folder


def compile_programs(folder, package, programs):
    """Writes the programs (name -> text) into `folder` and compiles each to NAME.mjs."""
    options = json.loads((SDK / "tsconfig.json").read_text())["compilerOptions"]
    del options["rootDir"], options["outDir"], options["declaration"]
    scope = folder / "node_modules" / "@maitento"
    scope.mkdir(parents=True)
    (scope / "sdk").symlink_to(package)
    for declarations in (SDK / "types" / "node.d.ts", pathlib.Path(__file__).with_name("programs.d.ts")):
        shutil.copy(declarations, folder)
    for name, text in programs.items():
        (folder / f"{name}.mts").write_text(text)
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.mts", "*.d.ts"]}))
    tsc("--project", folder)


def main(package):
    programs = {path.stem: path.read_text() for path in (ROOT / "tests" / "vm").glob("*.mts")}
    examples = guide_examples()
    assert programs and examples, "there is nothing to check"
    with tempfile.TemporaryDirectory() as folder:
        compile_programs(pathlib.Path(folder), os.path.abspath(package), {**examples, **programs})
    print(f"{len(examples)} examples and {len(programs)} programs compile")


if __name__ == "__main__":
    main(sys.argv[1])

// Reads the definitions of a folder, as a deploy sends them.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { InvalidRequestError } from "./errors.js";

export interface SourceFile {
  /** From the folder, with "/": capsules/workbench.mtr. */
  readonly path: string;
  readonly content: string;
}

const fileLimit = 1 << 20; // bytes

function invalid(detail: string, cause?: unknown): InvalidRequestError {
  return new InvalidRequestError({
    kind: "invalid-request",
    title: "The folder cannot be deployed",
    detail,
    cause,
  });
}

// Definition files are *.mtr, *.mtc and their like; data beside them is no business of a deploy.
function isDefinition(name: string): boolean {
  return /\.mt.$/.test(name);
}

function isSupported(path: string): boolean {
  return /^capsules\/.*\.mtr$/.test(path);
}

async function readDefinition(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (bytes.length > fileLimit) throw invalid(`${path} is larger than 1 MiB`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw invalid(`${path} is not UTF-8`, error);
  }
}

async function* definitions(folder: string, below = ""): AsyncGenerator<SourceFile> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      yield* definitions(folder, path);
    } else if (entry.isFile() && isDefinition(entry.name)) {
      // Kinds that are not supported are only named.
      yield { path, content: isSupported(path) ? await readDefinition(join(folder, path)) : "" };
    }
  }
}

/** Throws InvalidRequestError when it is not a folder with capsules/*.mtr in it. */
export async function readDefinitionFolder(folder: string): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  try {
    for await (const file of definitions(folder)) files.push(file);
  } catch (error) {
    throw error instanceof InvalidRequestError ? error : invalid(`${folder} cannot be read: ${String(error)}`, error);
  }
  if (!files.some((file) => isSupported(file.path))) {
    throw invalid(
      `there is no capsules/*.mtr in ${folder}; a deploy takes the folder that has the folder capsules in it`,
    );
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

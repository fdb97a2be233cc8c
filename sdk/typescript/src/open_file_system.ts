import type { CallOptions } from "./abort.js";
import { answerLimit, readAll, readJson } from "./calls.js";
import type { Calls } from "./calls.js";
import { ConflictError } from "./errors.js";
import { encodePath, withQuery } from "./paths.js";
import type { FilePath } from "./paths.js";
import type { FileEntry } from "./records.js";
import type { Answer, ByteSource } from "./transport.js";

function isListing(answer: Answer): boolean {
  return answer.contentType.startsWith("application/json");
}

function wrongType(path: FilePath, kind: string, what: string): ConflictError {
  const name = typeof path === "string" ? path : new TextDecoder("utf-8").decode(path);
  return new ConflictError({ kind, title: "Not that kind of file", detail: `${name}: ${what}` });
}

/**
 * The files of one file system. Paths count from its root, "/report.md".
 *
 * Files are replaced as a whole, when their last byte has arrived; folders above a written file are made.
 * Kinds: "not-found", "is-a-folder", "not-a-folder", "is-a-link" (links are never followed), "disk-full".
 */
export class OpenFileSystem {
  constructor(
    private readonly calls: Calls,
    private readonly target: string,
  ) {}

  #at(path: FilePath): string {
    return `${this.target}/${encodePath(path)}`;
  }

  /** A file's content or a folder's listing: the daemon answers with what is there. */
  async #get(path: FilePath, options: CallOptions): Promise<Answer> {
    const target = this.#at(path);
    const { signal } = options;
    return await this.calls.open({ method: "GET", target, silenceLimit: answerLimit, signal });
  }

  async #content(path: FilePath, options: CallOptions): Promise<Answer> {
    const answer = await this.#get(path, options);
    if (!isListing(answer)) return answer;
    answer.discard();
    throw wrongType(path, "is-a-folder", "it is a folder");
  }

  /** As UTF-8. */
  async writeText(path: FilePath, text: string, options: CallOptions = {}): Promise<void> {
    await this.calls.upload("PUT", this.#at(path), text, options);
  }

  async writeBytes(path: FilePath, bytes: Uint8Array, options: CallOptions = {}): Promise<void> {
    await this.calls.upload("PUT", this.#at(path), bytes, options);
  }

  /** Of any size. When the source throws, its error comes back and the file stays as it was. */
  async writeStream(path: FilePath, source: ByteSource, options: CallOptions = {}): Promise<void> {
    await this.calls.upload("PUT", this.#at(path), source, options);
  }

  /** From UTF-8; bytes that are not become U+FFFD. At most 64 MiB, as with readBytes. */
  async readText(path: FilePath, options: CallOptions = {}): Promise<string> {
    const bytes = await this.readBytes(path, options);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }

  async readBytes(path: FilePath, options: CallOptions = {}): Promise<Uint8Array> {
    return await this.calls.reconnecting(options, async () => readAll(await this.#content(path, options)));
  }

  /** Of any size, in pieces as they arrive. A connection that is lost in the middle is an error. */
  async *readStream(
    path: FilePath,
    options: CallOptions = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const answer = await this.calls.reconnecting(options, () => this.#content(path, options));
    yield* answer.pieces(answerLimit);
  }

  /** What a folder has in it; of the root unless given. */
  async list(path: FilePath = "/", options: CallOptions = {}): Promise<readonly FileEntry[]> {
    return await this.calls.reconnecting(options, async () => {
      const answer = await this.#get(path, options);
      if (!isListing(answer)) {
        answer.discard();
        throw wrongType(path, "not-a-folder", "it is not a folder");
      }
      return (await readJson<{ entries: FileEntry[] }>(answer)).entries;
    });
  }

  /** A link is shown as itself. */
  async stat(path: FilePath, options: CallOptions = {}): Promise<FileEntry> {
    return await this.calls.get(withQuery(this.#at(path), { stat: true }), options);
  }

  /** A folder with something in it only with `recursive`: otherwise the kind is "not-empty". */
  async delete(path: FilePath, options: CallOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    await this.calls.delete(withQuery(this.#at(path), { recursive: options.recursive }), options);
  }

  async move(from: FilePath, to: string, options: CallOptions = {}): Promise<void> {
    await this.calls.post(this.#at(from), { operation: "move", to }, options);
  }

  /** With the folders above it. */
  async makeFolder(path: FilePath, options: CallOptions = {}): Promise<void> {
    await this.calls.post(this.#at(path), { operation: "makeFolder" }, options);
  }
}

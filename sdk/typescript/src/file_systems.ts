import type { CallOptions } from "./abort.js";
import { ifFound } from "./calls.js";
import type { Calls } from "./calls.js";
import { OpenFileSystem } from "./open_file_system.js";
import { encodePart } from "./paths.js";
import type { FileSystem } from "./records.js";

/** The file systems (VFS) of a namespace: they outlive the machines that mount them. */
export class FileSystems {
  readonly #target: string;

  constructor(
    private readonly calls: Calls,
    namespace: string,
  ) {
    this.#target = `/v1/namespaces/${encodePart(namespace)}/vfs`;
  }

  async list(options: CallOptions = {}): Promise<readonly FileSystem[]> {
    return (await this.calls.get<{ items: FileSystem[] }>(this.#target, options)).items;
  }

  async findByName(name: string, options: CallOptions = {}): Promise<FileSystem | undefined> {
    return await ifFound(this.calls.get<FileSystem>(`${this.#target}/${encodePart(name)}`, options));
  }

  /** Kinds: "invalid-name", "not-found" (the namespace), "already-exists", "disk-full". */
  async create(request: { readonly name: string }, options: CallOptions = {}): Promise<FileSystem> {
    return await this.calls.post(this.#target, request, options);
  }

  /** Its files. Asks nothing yet: that it does not exist is found out by the first call. */
  open(name: string): OpenFileSystem {
    return new OpenFileSystem(this.calls, `${this.#target}/${encodePart(name)}/files`);
  }

  /** With all its files. Kind "in-use" while a run mounts it. */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.calls.delete(`${this.#target}/${encodePart(name)}`, options);
  }
}

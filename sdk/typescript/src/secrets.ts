import type { CallOptions } from "./abort.js";
import type { Calls } from "./calls.js";
import { encodePart } from "./paths.js";
import type { Secret } from "./records.js";

/** The secrets of a namespace. Their values go in and are never answered. */
export class Secrets {
  readonly #target: string;

  constructor(
    private readonly calls: Calls,
    namespace: string,
  ) {
    this.#target = `/v1/namespaces/${encodePart(namespace)}/secrets`;
  }

  async list(options: CallOptions = {}): Promise<readonly Secret[]> {
    return (await this.calls.get<{ items: Secret[] }>(this.#target, options)).items;
  }

  /** Exactly these bytes (text as UTF-8), at most 64 KiB; replaces an older value. */
  async set(name: string, value: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    await this.calls.upload("PUT", `${this.#target}/${encodePart(name)}`, value, options);
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.calls.delete(`${this.#target}/${encodePart(name)}`, options);
  }
}

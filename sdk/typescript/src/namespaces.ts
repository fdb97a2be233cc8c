import type { CallOptions } from "./abort.js";
import type { Calls } from "./calls.js";
import { encodePart } from "./paths.js";
import type { Namespace } from "./records.js";

/** The scopes in which names of capsules, file systems and secrets are unique. */
export class Namespaces {
  constructor(private readonly calls: Calls) {}

  async list(options: CallOptions = {}): Promise<readonly Namespace[]> {
    const answer = await this.calls.get<{ items: Namespace[] }>("/v1/namespaces", options);
    return answer.items;
  }

  async find(name: string, options: CallOptions = {}): Promise<Namespace | undefined> {
    return (await this.list(options)).find((namespace) => namespace.name === name);
  }

  /** Kinds: "invalid-name", "already-exists", "forbidden". */
  async create(request: { readonly name: string }, options: CallOptions = {}): Promise<Namespace> {
    return await this.calls.post("/v1/namespaces", request, options);
  }

  /** Only an empty one: otherwise the kind is "not-empty". */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.calls.delete(`/v1/namespaces/${encodePart(name)}`, options);
  }

  /** The image of the namespace's capsules that name none; undefined: the host's again. */
  async setImage(name: string, image: string | undefined, options: CallOptions = {}): Promise<Namespace> {
    const target = `/v1/namespaces/${encodePart(name)}/image`;
    if (image === undefined) return await this.calls.delete<Namespace>(target, options);
    return await this.calls.putJson(target, { image }, options);
  }
}

import type { CallOptions } from "./abort.js";
import { ifFound } from "./calls.js";
import type { Calls, CreateOptions } from "./calls.js";
import type { CapsuleRuns } from "./capsule_runs.js";
import { encodePart } from "./paths.js";
import type { Capsule, CapsuleRun, CapsuleSummary } from "./records.js";

/** The deployed definitions of a namespace. */
export class Capsules {
  readonly #target: string;

  constructor(
    private readonly calls: Calls,
    private readonly runs: CapsuleRuns,
    namespace: string,
  ) {
    this.#target = `/v1/namespaces/${encodePart(namespace)}/capsules`;
  }

  async list(options: CallOptions = {}): Promise<readonly CapsuleSummary[]> {
    return (await this.calls.get<{ items: CapsuleSummary[] }>(this.#target, options)).items;
  }

  async findByName(name: string, options: CallOptions = {}): Promise<Capsule | undefined> {
    return await ifFound(this.calls.get<Capsule>(`${this.#target}/${encodePart(name)}`, options));
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.calls.delete(`${this.#target}/${encodePart(name)}`, options);
  }

  /**
   * Starts a machine and returns at once; commands sent while it is Starting run once it is ready.
   * Kinds: "not-found", "no-room" (the host has no memory or disk left for it), "image-missing".
   */
  async start(name: string, options: CreateOptions = {}): Promise<CapsuleRun> {
    return await this.calls.create(`${this.#target}/${encodePart(name)}/runs`, {}, options);
  }

  /**
   * Starts a machine and waits for its end. A run that fails is a result: its status is Error and
   * `failureDetails` says why. An aborted signal ends the waiting, not the run.
   */
  async run(name: string, options: CreateOptions = {}): Promise<CapsuleRun> {
    const run = await this.start(name, options);
    return await this.runs.wait(run.id, options);
  }
}

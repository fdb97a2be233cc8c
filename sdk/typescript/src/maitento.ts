import type { CallOptions } from "./abort.js";
import { Calls } from "./calls.js";
import { CapsuleRuns } from "./capsule_runs.js";
import { Capsules } from "./capsules.js";
import { readDefinitionFolder } from "./definition_folder.js";
import { defaultUrl, parseEndpoint } from "./endpoint.js";
import { EventStream } from "./event_stream.js";
import type { EventOptions } from "./event_stream.js";
import { FileSystems } from "./file_systems.js";
import { Images } from "./images.js";
import { Namespaces } from "./namespaces.js";
import { encodePart } from "./paths.js";
import { systemClock } from "./patience.js";
import type { DeployReport, Health } from "./records.js";
import { Secrets } from "./secrets.js";
import { Transport } from "./transport.js";

export interface MaitentoOptions {
  /** unix:///path/to/socket or http://host:port; MAITENTO_URL, else unix:///run/capsuled/api.sock. */
  readonly url?: string;
  /** Bearer key, needed over TCP; MAITENTO_API_KEY. */
  readonly key?: string;
  /** What names are looked up in; MAITENTO_NAMESPACE, else "default". */
  readonly namespace?: string;
}

function variable(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value; // as the command line takes it
}

/**
 * A client of one daemon and one namespace. Making one asks nothing; any number of calls may be under
 * way at once.
 *
 * Every call throws MaitentoError, or the reason of the AbortSignal it was given. Reading calls,
 * starting, sending a command, stopping and waiting survive a restart of the daemon: they are repeated
 * for 30 s once it has been there. Others fail when their connection is lost, because nobody knows then
 * whether they were carried out.
 */
export class Maitento {
  readonly namespace: string;
  readonly namespaces: Namespaces;
  readonly vfs: FileSystems;
  readonly secrets: Secrets;
  readonly capsules: Capsules;
  readonly capsuleRuns: CapsuleRuns;
  readonly images: Images;
  readonly #calls: Calls;

  /** Throws InvalidRequestError when the URL is not an address. */
  constructor(options: MaitentoOptions = {}) {
    const endpoint = parseEndpoint(options.url ?? variable("MAITENTO_URL") ?? defaultUrl);
    const key = options.key ?? variable("MAITENTO_API_KEY");
    this.namespace = options.namespace ?? variable("MAITENTO_NAMESPACE") ?? "default";
    this.#calls = new Calls(new Transport(endpoint, key), systemClock);
    this.namespaces = new Namespaces(this.#calls);
    this.vfs = new FileSystems(this.#calls, this.namespace);
    this.secrets = new Secrets(this.#calls, this.namespace);
    this.capsuleRuns = new CapsuleRuns(this.#calls, this.namespace);
    this.capsules = new Capsules(this.#calls, this.capsuleRuns, this.namespace);
    this.images = new Images(this.#calls);
  }

  /**
   * Sends the definitions of a folder (capsules/*.mtr). All of them are checked, and everything is
   * changed or nothing. What they mount must exist before.
   *
   * Throws DefinitionInvalidError, whose `errors` have file, line and column.
   */
  async deploy(folder: string, options: CallOptions = {}): Promise<DeployReport> {
    const files = await readDefinitionFolder(folder);
    return await this.#calls.post(`/v1/namespaces/${encodePart(this.namespace)}/deploy`, { files }, options);
  }

  /** What happens in the namespaces that may be seen, as it happens. */
  events(options: EventOptions = {}): EventStream {
    return new EventStream(this.#calls, options);
  }

  /** Is the daemon alive; needs no key. */
  async health(options: CallOptions = {}): Promise<Health> {
    return await this.#calls.get("/health", options);
  }

  /** Accelerator and why, transport, images, limits and versions, for people to read. */
  async host(options: CallOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return await this.#calls.get("/v1/host", options);
  }
}

// How long a lost daemon is waited for: it restarts without ending runs.

import { sleep } from "./abort.js";
import { MaitentoConnectionError, MaitentoTimeoutError } from "./errors.js";

/** In milliseconds, from the first failure of a row on. */
export const reconnectLimit = 30_000;
const firstDelay = 50;
const longestDelay = 1_000;

export interface Clock {
  /** Milliseconds that only go forward. */
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => performance.now(), sleep };

export class Patience {
  #failingSince: number | undefined;
  #delay = firstDelay;

  constructor(
    private readonly clock: Clock,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Something has worked: the next failure is the first of a new row. */
  restore(): void {
    this.#failingSince = undefined;
    this.#delay = firstDelay;
  }

  /** Returns when it is time for another try; throws `failure` when there is to be none. */
  async afterFailure(failure: unknown): Promise<void> {
    const now = this.clock.now();
    this.#failingSince ??= now;
    if (now + this.#delay - this.#failingSince > reconnectLimit) throw failure;
    await this.clock.sleep(this.#delay, this.signal);
    this.#delay = Math.min(2 * this.#delay, longestDelay);
  }
}

/** True when another try on a new connection may succeed. */
export function isConnectionFailure(error: unknown): error is MaitentoConnectionError {
  return error instanceof MaitentoConnectionError;
}

/** The connection is there and nothing comes; in a stream with keep-alives that is as good as lost. */
export function isSilence(error: unknown): boolean {
  return error instanceof MaitentoTimeoutError && error.status === undefined;
}

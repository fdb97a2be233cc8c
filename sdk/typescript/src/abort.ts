// Waiting that an AbortSignal ends.

/** Of every call that waits. An abort ends the waiting with the signal's reason, nothing on the host. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

/** Calls `aborted` when the signal is raised, at once if it is already; returns what takes that back. */
export function onAbort(signal: AbortSignal | undefined, aborted: () => void): () => void {
  if (!signal) return () => undefined;
  if (signal.aborted) {
    aborted();
    return () => undefined;
  }
  signal.addEventListener("abort", aborted, { once: true });
  return () => signal.removeEventListener("abort", aborted);
}

export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  throwIfAborted(signal);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, milliseconds);
    const forget = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal?.reason);
    });
  });
}

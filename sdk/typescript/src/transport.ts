// One HTTP exchange with the daemon over a Unix socket or TCP. A connection an exchange: none is ever
// found closed by the daemon just when it is used again, and none keeps a program from ending.

import { request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";

import { onAbort, throwIfAborted } from "./abort.js";
import type { Endpoint } from "./endpoint.js";
import { MaitentoConnectionError, MaitentoTimeoutError } from "./errors.js";

/** Bytes or text (UTF-8) in pieces: a Node.js stream is one. */
export type ByteSource = AsyncIterable<Uint8Array | string>;

export interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | ByteSource;
  /** Milliseconds without a byte in either direction until the answer begins; 0: for ever. */
  readonly silenceLimit: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** The body's pieces; one that takes longer than this many milliseconds is a failure (0: none does). */
  pieces(silenceLimit: number): AsyncGenerator<Uint8Array, void, undefined>;
  /** Instead of reading it. */
  discard(): void;
}

const unreachableCauses = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "ENOTSOCK",
  "EACCES",
  "EPERM",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

class Silence extends Error {}
// What a caller's own source of bytes threw, to be told from what the connection throws.
class SourceFailure extends Error {
  constructor(readonly reason: unknown) {
    super("the source of a body failed");
  }
}

async function* marked(source: ByteSource): AsyncGenerator<Uint8Array | string, void, undefined> {
  try {
    for await (const piece of source) yield piece;
  } catch (error) {
    throw new SourceFailure(error);
  }
}

function isPieces(body: string | Uint8Array | ByteSource): body is ByteSource {
  return typeof body !== "string" && !(body instanceof Uint8Array);
}

export class Transport {
  #hasConnected = false;

  constructor(
    readonly endpoint: Endpoint,
    private readonly key: string | undefined,
  ) {}

  /** The daemon has been there once: now it is worth waiting for. */
  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  /**
   * Returns when the answer's head is there, whatever its status, also before all of the body was sent.
   * Throws MaitentoConnectionError, MaitentoTimeoutError, the signal's reason, or what the body's own source threw.
   */
  async send(request: Request): Promise<Answer> {
    throwIfAborted(request.signal);
    const exchange = httpRequest({
      agent: false,
      autoSelectFamily: true, // "localhost" may stand for two addresses of which one is listened at
      ...this.endpoint.address,
      method: request.method,
      path: request.target,
      headers: {
        Host: this.endpoint.authority,
        ...(this.key === undefined ? {} : { Authorization: `Bearer ${this.key}` }),
        ...request.headers,
      },
    });
    const forget = onAbort(request.signal, () => exchange.destroy(new Error("aborted")));
    exchange.setTimeout(request.silenceLimit, () => exchange.destroy(new Silence()));
    try {
      const response = await this.#respond(exchange, request.body);
      exchange.setTimeout(0); // from here on pieces() watches
      this.#hasConnected = true;
      return {
        status: response.statusCode ?? 0,
        contentType: String(response.headers["content-type"] ?? ""),
        pieces: (silenceLimit) => this.#pieces(response, silenceLimit, request.signal, forget),
        discard: () => {
          forget();
          response.destroy();
        },
      };
    } catch (error) {
      forget();
      throw this.#failure(error, "asking", request.signal);
    }
  }

  async #respond(exchange: ClientRequest, body: Request["body"]): Promise<IncomingMessage> {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      exchange.once("response", resolve);
      // Stays for as long as the exchange: an error later on is reported by reading the response.
      exchange.on("error", reject);
      if (body === undefined) {
        exchange.end();
      } else if (isPieces(body)) {
        // A source that fails destroys the exchange, so that half a file is never taken for a whole.
        pipeline(marked(body), exchange).catch(reject);
      } else {
        exchange.end(body);
      }
    });
  }

  async *#pieces(
    response: IncomingMessage,
    silenceLimit: number,
    signal: AbortSignal | undefined,
    forget: () => void,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const iterator = response[Symbol.asyncIterator]();
    try {
      for (;;) {
        const timer =
          silenceLimit > 0 ? setTimeout(() => response.destroy(new Silence()), silenceLimit) : undefined;
        let next;
        try {
          next = await iterator.next();
        } catch (error) {
          throw this.#failure(error, "reading from", signal);
        } finally {
          clearTimeout(timer);
        }
        if (next.done) return;
        yield next.value;
      }
    } finally {
      forget();
      response.destroy(); // also when the caller reads no further
    }
  }

  #failure(error: unknown, doing: string, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    if (error instanceof SourceFailure) return error.reason;
    const url = this.endpoint.url;
    if (error instanceof Silence) {
      return new MaitentoTimeoutError({
        kind: "timed-out",
        title: "No answer in time",
        detail: `no answer while ${doing} ${url}`,
      });
    }
    const cause = (error as { code?: unknown }).code;
    if (typeof cause === "string" && unreachableCauses.has(cause)) {
      return new MaitentoConnectionError({
        kind: "unreachable",
        title: "The daemon is not reachable",
        detail: `no daemon answers at ${url} (${cause})`,
        cause: error,
      });
    }
    this.#hasConnected = true;
    return new MaitentoConnectionError({
      kind: "connection-lost",
      title: "The connection was lost",
      detail: `the connection was lost while ${doing} ${url} (${String(cause ?? error)})`,
      cause: error,
    });
  }
}

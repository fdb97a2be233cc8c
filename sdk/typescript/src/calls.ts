// JSON calls: a request, its whole answer, and which of them may be repeated when the connection is lost.

import { randomUUID } from "node:crypto";

import type { CallOptions } from "./abort.js";
import { NotFoundError, readProblem, unexpectedAnswer } from "./errors.js";
import { isConnectionFailure, Patience } from "./patience.js";
import type { Clock } from "./patience.js";
import type { Answer, ByteSource, Request, Transport } from "./transport.js";

/** One long poll; the daemon answers after this many seconds at the latest. */
export const pollSeconds = 30;
/** Milliseconds that an ordinary call may be silent for. */
export const answerLimit = 60_000;
/** Keep-alives come every 10 s in streams; several late are a lost connection. */
export const streamSilenceLimit = 45_000;
const documentLimit = 64 << 20;

/** Of calls that start something. */
export interface CreateOptions extends CallOptions {
  /** The same key gives the same thing again (1 to 200 visible characters); a new one unless given. */
  readonly idempotencyKey?: string;
}

type Body = string | Uint8Array | ByteSource;

export async function readAll(answer: Answer, limit = documentLimit): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.pieces(answerLimit)) {
    size += piece.length;
    if (size > limit) throw unexpectedAnswer(`it is larger than ${limit} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export async function readText(answer: Answer): Promise<string> {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await readAll(answer));
}

export async function readJson<T>(answer: Answer): Promise<T> {
  const text = await readText(answer);
  if (text === "") return undefined as T; // 204
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw unexpectedAnswer("it is not JSON", error);
  }
}

/** Throws the error that the answer stands for, if it does. */
export async function throwIfRefused(answer: Answer): Promise<void> {
  if (answer.status >= 400) throw readProblem(answer.status, await readText(answer));
}

/** undefined instead of NotFoundError. */
export async function ifFound<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

export class Calls {
  constructor(
    readonly transport: Transport,
    private readonly clock: Clock,
  ) {}

  patience(options: CallOptions): Patience {
    return new Patience(this.clock, options.signal);
  }

  /** Another try may help: the daemon had been there and its connection was lost. */
  mayPass(error: unknown): boolean {
    return isConnectionFailure(error) && this.transport.hasConnected;
  }

  /** Repeats `call` while the connection is lost, for reconnectLimit at most: only what is safe to repeat. */
  async reconnecting<T>(options: CallOptions, call: () => Promise<T>): Promise<T> {
    const patience = this.patience(options);
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!this.mayPass(error)) throw error;
        await patience.afterFailure(error);
      }
    }
  }

  /** The answer's head, its status below 400. */
  async open(request: Request): Promise<Answer> {
    const answer = await this.transport.send(request);
    await throwIfRefused(answer);
    return answer;
  }

  /** Survives a restart of the daemon. `waitSeconds`: of a long poll, how long it may take. */
  async get<T>(target: string, options: CallOptions = {}, waitSeconds = 0): Promise<T> {
    const silenceLimit = answerLimit + 1000 * waitSeconds;
    return await this.reconnecting(options, () =>
      this.#ask<T>({ method: "GET", target, silenceLimit, signal: options.signal }),
    );
  }

  /** Not repeated: nobody knows whether a lost request was carried out. */
  async post<T>(target: string, body: object, options: CallOptions = {}): Promise<T> {
    return await this.#ask<T>(this.#jsonRequest(target, body, options));
  }

  /** Survives a restart of the daemon, and happens once. */
  async create<T>(target: string, body: object, options: CreateOptions = {}): Promise<T> {
    const headers = { "Idempotency-Key": options.idempotencyKey ?? randomUUID() };
    const request = this.#jsonRequest(target, body, options, headers);
    return await this.reconnecting(options, () => this.#ask<T>(request));
  }

  async putJson<T>(target: string, body: object, options: CallOptions = {}): Promise<T> {
    return await this.#ask<T>({ ...this.#jsonRequest(target, body, options), method: "PUT" });
  }

  /** Sends raw bytes; `silenceLimit` in milliseconds, 0: for ever. */
  async upload(
    method: "PUT" | "POST",
    target: string,
    body: Body,
    options: CallOptions = {},
    silenceLimit = answerLimit,
  ): Promise<void> {
    const headers = { "Content-Type": "application/octet-stream" };
    await this.#ask({ method, target, headers, body, silenceLimit, signal: options.signal });
  }

  async delete<T = void>(target: string, options: CallOptions = {}): Promise<T> {
    return await this.#ask<T>({ method: "DELETE", target, silenceLimit: answerLimit, signal: options.signal });
  }

  #jsonRequest(
    target: string,
    body: object,
    options: CallOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Request {
    return {
      method: "POST",
      target,
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
      silenceLimit: answerLimit,
      signal: options.signal,
    };
  }

  async #ask<T>(request: Request): Promise<T> {
    return await readJson<T>(await this.open(request));
  }
}

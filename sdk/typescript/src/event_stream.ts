// Server-sent events: what the daemon reports as it happens, taken up again after the last one seen.

import type { CallOptions } from "./abort.js";
import { streamSilenceLimit } from "./calls.js";
import type { Calls } from "./calls.js";
import { MaitentoConnectionError, unexpectedAnswer } from "./errors.js";
import { isSilence } from "./patience.js";
import type { Patience } from "./patience.js";
import type { CapsuleEvent } from "./records.js";

export interface EventOptions extends CallOptions {
  /** Begin after the event with this id; otherwise with what happens from open() on. */
  readonly after?: number;
}

interface ParsedEvent {
  readonly id: string | undefined;
  readonly data: string;
}

const eventLimit = 1 << 20; // characters

/** Takes the text of a stream apart. */
export class EventParser {
  #decoder = new TextDecoder("utf-8");
  #rest = "";
  #afterReturn = false;
  #data: string[] = [];
  #dataLength = 0;
  #id: string | undefined;

  /** Of the last event, also of one without data; undefined before the first. */
  get lastId(): string | undefined {
    return this.#id;
  }

  feed(bytes: Uint8Array): ParsedEvent[] {
    const events: ParsedEvent[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return events;
    // A line may end with CR LF whose halves arrive apart.
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterReturn = text.endsWith("\r") || (text === "" && this.#afterReturn);
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line, events);
    if (this.#rest.length + this.#dataLength > eventLimit) throw unexpectedAnswer("an event is larger than 1 MiB");
    return events;
  }

  #take(line: string, events: ParsedEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) events.push({ id: this.#id, data: this.#data.join("\n") });
      this.#data = [];
      this.#dataLength = 0;
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.#id = value;
    if (name === "data") {
      this.#data.push(value);
      this.#dataLength += value.length + 1; // with its line end: empty lines count, too
    }
  }
}

function parseEvent(data: string): CapsuleEvent {
  try {
    return JSON.parse(data) as CapsuleEvent;
  } catch (error) {
    throw unexpectedAnswer("an event is not JSON", error);
  }
}

/** One connection: a parser that has read what the daemon sends first, and what comes then. */
interface Connected {
  readonly parser: EventParser;
  readonly pieces: AsyncGenerator<Uint8Array, void, undefined>;
  readonly first: readonly ParsedEvent[];
}

/**
 * Events, for `for await`. A daemon that restarts is waited for and asked for what came after the last
 * event seen, or after where the daemon said that the stream begins; lost before that and without
 * `after`, what happened meanwhile is missed. Leaving the loop closes the stream.
 */
export class EventStream implements AsyncIterable<CapsuleEvent> {
  #last: string | undefined;
  #connected: Connected | undefined;
  readonly #patience: Patience;

  constructor(
    private readonly calls: Calls,
    private readonly options: EventOptions,
  ) {
    this.#last = options.after === undefined ? undefined : String(options.after);
    this.#patience = calls.patience(options);
  }

  /** Returns when the stream is there: nothing that happens later is missed. The loop does it by itself. */
  async open(): Promise<void> {
    this.#connected ??= await this.calls.reconnecting(this.options, () => this.#connect());
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CapsuleEvent, void, undefined> {
    try {
      for (;;) {
        try {
          await this.open();
          yield* this.#events();
          throw streamEnded();
        } catch (error) {
          this.#connected = undefined;
          if (!isSilence(error) && !this.calls.mayPass(error)) throw error;
          await this.#patience.afterFailure(error);
        }
      }
    } finally {
      await this.close();
    }
  }

  /** Of a stream that was opened and is not looped over. */
  async close(): Promise<void> {
    await this.#connected?.pieces.return();
    this.#connected = undefined;
  }

  async #connect(): Promise<Connected> {
    const answer = await this.calls.open({
      method: "GET",
      target: "/v1/events",
      headers: {
        Accept: "text/event-stream",
        ...(this.#last === undefined ? {} : { "Last-Event-ID": this.#last }),
      },
      silenceLimit: streamSilenceLimit,
      signal: this.options.signal,
    });
    const pieces = answer.pieces(streamSilenceLimit);
    const piece = await pieces.next();
    if (piece.done) throw streamEnded();
    const parser = new EventParser();
    const first = parser.feed(piece.value);
    // An id without an event says where the stream begins.
    if (first.length === 0) this.#last = parser.lastId ?? this.#last;
    return { parser, pieces, first };
  }

  async *#events(): AsyncGenerator<CapsuleEvent, void, undefined> {
    if (!this.#connected) return;
    const { parser, pieces } = this.#connected;
    let events = this.#connected.first;
    for (;;) {
      this.#patience.restore();
      for (const { id, data } of events) {
        const event = parseEvent(data);
        this.#last = id ?? this.#last;
        yield event;
      }
      const piece = await pieces.next();
      if (piece.done) return;
      events = parser.feed(piece.value);
    }
  }
}

function streamEnded(): MaitentoConnectionError {
  return new MaitentoConnectionError({
    kind: "connection-lost",
    title: "The connection was lost",
    detail: "the daemon ended the stream of events",
  });
}

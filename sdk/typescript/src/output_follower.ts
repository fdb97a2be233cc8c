// Follows the outputs of one command: connects again where it was, and ends with the command.

import type { CallOptions } from "./abort.js";
import { streamSilenceLimit } from "./calls.js";
import type { Calls } from "./calls.js";
import { MaitentoConnectionError, MaitentoError } from "./errors.js";
import { OutputRecords } from "./output_records.js";
import type { OutputRecord, OutputStream } from "./output_records.js";
import { withQuery } from "./paths.js";
import { isSilence } from "./patience.js";
import type { Command } from "./records.js";

export interface FollowOptions extends CallOptions {
  /** Where to begin, in bytes of each output; 0 unless given. */
  readonly outputFrom?: number;
  readonly errorFrom?: number;
  /** The command is held back, 30 s at most, rather than losing output; true unless given. */
  readonly lossless?: boolean;
}

export type OutputPiece =
  | {
      readonly type: "bytes";
      readonly stream: OutputStream;
      /** Of the first byte within the whole output. */
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  /** Bytes from `offset` to before `end` are lost: they were not read in time. */
  | { readonly type: "gap"; readonly stream: OutputStream; readonly offset: number; readonly end: number }
  /** Always the last. Its status is Aborted when the capsule has ended first. */
  | { readonly type: "ended"; readonly command: Command };

const replacement = "\uFFFD";

export class OutputFollower {
  readonly #offsets: Record<OutputStream, number>;

  constructor(
    private readonly calls: Calls,
    private readonly target: string,
    private readonly options: FollowOptions,
  ) {
    this.#offsets = { standard: options.outputFrom ?? 0, error: options.errorFrom ?? 0 };
  }

  async *pieces(): AsyncGenerator<OutputPiece, void, undefined> {
    const patience = this.calls.patience(this.options);
    for (;;) {
      try {
        for await (const record of this.#records()) {
          patience.restore();
          if (record.type === "command-ended") {
            // Everything printed before is out; late output of background children is not waited for.
            yield { type: "ended", command: await this.#command() };
            return;
          }
          yield* this.#take(record);
        }
      } catch (error) {
        if (!this.#mayPass(error)) throw error;
        await patience.afterFailure(error);
        continue;
      }
      // The daemon no longer has a live output to give; it knows the command, and usually that it has ended.
      const command = await this.#command();
      if (command.status !== "Queued" && command.status !== "Running") {
        yield* this.#complete("standard", command.outputStandard, command.outputStandardFullLength);
        yield* this.#complete("error", command.outputError, command.outputErrorFullLength);
        yield { type: "ended", command };
        return;
      }
      await patience.afterFailure(outputBrokeOff());
    }
  }

  #mayPass(error: unknown): boolean {
    if (error instanceof MaitentoError && error.kind === "guest-unavailable") {
      return true; // a daemon that has just started may not have reached the machine yet
    }
    return isSilence(error) || this.calls.mayPass(error);
  }

  async #command(): Promise<Command> {
    return await this.calls.get<Command>(this.target, this.options);
  }

  /** Ends without a record when there is nothing to be followed any more. */
  async *#records(): AsyncGenerator<OutputRecord, void, undefined> {
    const target = withQuery(`${this.target}/output`, {
      outputFrom: this.#offsets.standard,
      errorFrom: this.#offsets.error,
      lossless: this.options.lossless ?? true,
    });
    const { signal } = this.options;
    let answer;
    try {
      // No limit: the answer begins when the command does, and a queued one waits for its turn.
      answer = await this.calls.open({ method: "GET", target, silenceLimit: 0, signal });
    } catch (error) {
      if (error instanceof MaitentoError && error.kind === "command-ended") return;
      throw error;
    }
    const records = new OutputRecords();
    for await (const bytes of answer.pieces(streamSilenceLimit)) {
      records.feed(bytes);
      for (let record = records.next(); record; record = records.next()) yield record;
    }
    if (records.isCutOff) throw outputBrokeOff();
  }

  *#take(record: OutputRecord): Generator<OutputPiece, void, undefined> {
    if (record.type === "gap") {
      yield* this.#skip(record.stream, record.end);
    } else if (record.type === "bytes") {
      yield* this.#skip(record.stream, record.offset);
      const bytes = record.bytes.subarray(this.#offsets[record.stream] - record.offset);
      if (bytes.length > 0) yield this.#deliver(record.stream, bytes);
    }
  }

  #deliver(stream: OutputStream, bytes: Uint8Array): OutputPiece {
    const offset = this.#offsets[stream];
    this.#offsets[stream] += bytes.length;
    return { type: "bytes", stream, offset, bytes };
  }

  *#skip(stream: OutputStream, end: number): Generator<OutputPiece, void, undefined> {
    const offset = this.#offsets[stream];
    if (end <= offset) return;
    this.#offsets[stream] = end;
    yield { type: "gap", stream, offset, end };
  }

  /** What is missing, out of the text that the command's record has kept, where that says which bytes it is. */
  *#complete(
    stream: OutputStream,
    kept: string,
    fullLength: number | undefined,
  ): Generator<OutputPiece, void, undefined> {
    // Without a replacement character it is the output byte for byte, so that offsets mean the same.
    if (fullLength !== undefined || kept.includes(replacement)) return;
    const missing = Buffer.from(kept).subarray(this.#offsets[stream]);
    if (missing.length > 0) yield this.#deliver(stream, missing);
  }
}

function outputBrokeOff(): MaitentoConnectionError {
  return new MaitentoConnectionError({
    kind: "connection-lost",
    title: "The connection was lost",
    detail: "the live output broke off",
  });
}

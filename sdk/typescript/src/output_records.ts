// The binary records of live output, application/vnd.capsule.output (docs/api.md, "Live output").

import { unexpectedAnswer } from "./errors.js";

export type OutputStream = "standard" | "error";

export type OutputRecord =
  | { readonly type: "bytes"; readonly stream: OutputStream; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly type: "gap"; readonly stream: OutputStream; readonly offset: number; readonly end: number }
  | { readonly type: "command-ended"; readonly payload: Uint8Array }
  | { readonly type: "stream-ended"; readonly stream: OutputStream }
  | { readonly type: "keep-alive" };

const headerBytes = 16;
const gapBytes = 8;
// A command with all its arguments is the largest payload there is.
const payloadLimit = 64 << 20;

function streamOf(number: number): OutputStream {
  if (number === 1) return "standard";
  if (number === 2) return "error";
  throw unexpectedAnswer(`a record of the live output names stream ${number}`);
}

export class OutputRecords {
  #buffer = Buffer.alloc(0);

  feed(bytes: Uint8Array): void {
    this.#buffer = Buffer.concat([this.#buffer, bytes]);
  }

  /** A record has begun and its end has not arrived. */
  get isCutOff(): boolean {
    return this.#buffer.length > 0;
  }

  /** The next whole record, undefined when more bytes are needed; records of unknown types are left out. */
  next(): OutputRecord | undefined {
    for (;;) {
      if (this.#buffer.length < headerBytes) return undefined;
      const length = this.#buffer.readUInt32BE(4);
      if (length > payloadLimit) throw unexpectedAnswer(`a record of the live output claims ${length} bytes`);
      const end = headerBytes + length;
      if (this.#buffer.length < end) return undefined;
      const record = this.#read(this.#buffer.subarray(0, end));
      this.#buffer = this.#buffer.subarray(end);
      if (record) return record;
    }
  }

  #read(bytes: Buffer): OutputRecord | undefined {
    const stream = bytes.readUInt8(1);
    const offset = Number(bytes.readBigUInt64BE(8));
    const payload = bytes.subarray(headerBytes);
    switch (bytes.readUInt8(0)) {
      case 1:
        return { type: "bytes", stream: streamOf(stream), offset, bytes: payload };
      case 2: {
        if (payload.length !== gapBytes) throw unexpectedAnswer("a gap in the live output has no end");
        const end = Number(payload.readBigUInt64BE(0));
        if (end < offset) throw unexpectedAnswer("a gap in the live output ends before it starts");
        return { type: "gap", stream: streamOf(stream), offset, end };
      }
      case 3:
        return { type: "command-ended", payload };
      case 4:
        return { type: "stream-ended", stream: streamOf(stream) };
      case 5:
        return { type: "keep-alive" };
      default:
        return undefined;
    }
  }
}

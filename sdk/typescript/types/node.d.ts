// The part of Node.js 18 that the SDK stands on, and nothing more. Node's own declarations
// (@types/node) come with some builds of Node.js and not with others; with these the SDK compiles
// the same everywhere, and something newer than Node.js 18 cannot slip in. They are not part of the
// package: no type of Node's alone appears in what the SDK exports.

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

interface Buffer extends Uint8Array {
  toString(encoding?: "utf8" | "base64"): string;
  readUInt8(offset: number): number;
  readUInt32BE(offset: number): number;
  readBigUInt64BE(offset: number): bigint;
  subarray(begin?: number, end?: number): Buffer;
}
declare const Buffer: {
  alloc(size: number): Buffer;
  from(text: string, encoding?: "utf8" | "base64"): Buffer;
  from(memory: ArrayBufferLike, offset: number, length: number): Buffer;
  concat(pieces: readonly Uint8Array[]): Buffer;
  byteLength(text: string): number;
};

declare class TextDecoder {
  constructor(encoding: "utf-8", options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}

type Timer = { readonly timer: unique symbol };
declare function setTimeout(callback: () => void, milliseconds: number): Timer;
declare function clearTimeout(timer: Timer | undefined): void;

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };
declare const performance: { now(): number };

declare module "node:crypto" {
  export function randomUUID(): string;
}

declare module "node:path" {
  export function join(...parts: string[]): string;
}

declare module "node:fs/promises" {
  export interface DirectoryEntry {
    readonly name: string;
    isDirectory(): boolean;
    isFile(): boolean;
  }
  export function readdir(folder: string, options: { withFileTypes: true }): Promise<DirectoryEntry[]>;
  export function readFile(path: string): Promise<Buffer>;
}

declare module "node:stream/promises" {
  import type { ClientRequest } from "node:http";
  export function pipeline(
    source: AsyncIterable<Uint8Array | string>,
    destination: ClientRequest,
  ): Promise<void>;
}

declare module "node:http" {
  export interface IncomingMessage extends AsyncIterable<Buffer> {
    readonly statusCode?: number;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    destroy(error?: Error): void;
  }
  export interface ClientRequest {
    on(event: "error", listener: (error: Error) => void): this;
    once(event: "response", listener: (response: IncomingMessage) => void): this;
    setTimeout(milliseconds: number, listener?: () => void): this;
    end(body?: Uint8Array | string): void;
    destroy(error?: Error): void;
  }
  export interface RequestOptions {
    agent: false;
    autoSelectFamily: boolean;
    socketPath?: string;
    host?: string;
    port?: number;
    method: string;
    path: string;
    headers: Record<string, string>;
  }
  export function request(options: RequestOptions): ClientRequest;
}

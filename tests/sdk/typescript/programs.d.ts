// What programs use of Node.js beyond what the SDK does (sdk/typescript/types/node.d.ts).

declare const console: { log(...values: unknown[]): void };

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare module "node:fs/promises" {
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
}

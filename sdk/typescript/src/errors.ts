// Everything the SDK throws of its own. Two things come through as they are: an AbortSignal's reason,
// and what a caller's own stream throws.

import type { Command, Diagnostic } from "./records.js";

/** What sort of failure it is; `code` of the error says exactly which. */
export type ErrorKind =
  | "invalid-argument"
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "conflict"
  | "too-large"
  | "resource-exhausted"
  | "unsupported"
  | "unavailable"
  | "timed-out"
  | "protocol-violation"
  | "internal";

export interface ErrorFacts {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly title: string;
  readonly detail: string;
  readonly status?: number;
  readonly errors?: readonly Diagnostic[];
  readonly cause?: unknown;
}

/** Base of all errors of the SDK; its message is `detail`. */
export class MaitentoError extends Error {
  /** Stable, one of the daemon's codes ("not-found", "no-room", "run-ended"...) or one of the SDK's. */
  readonly code: string;
  readonly kind: ErrorKind;
  /** A short name of the failure, the same for every one with this code. */
  readonly title: string;
  /** What went wrong, where, and what to do about it. */
  readonly detail: string;
  /** The HTTP status; undefined when the daemon has not answered. */
  readonly status: number | undefined;
  /** Mistakes in definitions, with their positions; empty for other failures. */
  readonly errors: readonly Diagnostic[];

  constructor(facts: ErrorFacts, message: string = facts.detail) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.code = facts.code;
    this.kind = facts.kind;
    this.title = facts.title;
    this.detail = facts.detail;
    this.status = facts.status;
    this.errors = facts.errors ?? [];
  }
}

/** The daemon could not be asked. Code: "unreachable" (nobody answers), "connection-lost" or "timed-out". */
export class MaitentoConnectionError extends MaitentoError {}

/** A deploy was refused and nothing was changed; `errors` has each mistake, the message one a line. */
export class DefinitionError extends MaitentoError {
  constructor(facts: ErrorFacts) {
    const lines = (facts.errors ?? []).map(
      (mistake) => `${mistake.file}:${mistake.line}:${mistake.column}: ${mistake.message}`,
    );
    super(facts, lines.length > 0 ? lines.join("\n") : facts.detail);
  }
}

/** The capsule ended before the command did: it was stopped, failed, or its time was up. */
export class CapsuleCommandAbortedError extends MaitentoError {
  /** Its record. What it printed is not kept: followOutput() has that while it is printed. */
  readonly command: Command;

  constructor(command: Command) {
    super({
      code: "command-aborted",
      kind: "conflict",
      title: "The capsule ended before the command did",
      detail: `the command was aborted: ${command.reason ?? "its capsule has ended"}`,
    });
    this.command = command;
  }
}

const kinds: Readonly<Record<number, ErrorKind>> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  413: "too-large",
  429: "resource-exhausted",
  501: "unsupported",
  502: "protocol-violation",
  503: "unavailable",
  504: "timed-out",
};

/** The error that an answer of status 400 or more stands for; `body` is its problem+json, if it is that. */
export function readProblem(status: number, body: string): MaitentoError {
  let problem: Partial<Record<string, unknown>> = {};
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === "object" && value !== null) problem = { ...value };
  } catch {
    // Not the daemon's own words (a proxy's, say): the status has to do.
  }
  const text = (name: string): string | undefined => {
    const value = problem[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const title = text("title") ?? `HTTP status ${status}`;
  const kind = kinds[status] ?? (status < 500 ? "invalid-argument" : "internal");
  const errors = problem["errors"];
  const facts: ErrorFacts = {
    code: text("code") ?? kind,
    kind,
    title,
    detail: text("detail") ?? text("title") ?? `the daemon answered with status ${status}`,
    status,
    errors: Array.isArray(errors) ? (errors as Diagnostic[]) : [],
  };
  return facts.code === "definition-invalid" ? new DefinitionError(facts) : new MaitentoError(facts);
}

/** An answer that is not what the API promises. */
export function unexpectedAnswer(what: string, cause?: unknown): MaitentoError {
  return new MaitentoError({
    code: "protocol-violation",
    kind: "protocol-violation",
    title: "The daemon's answer is not understood",
    detail: `the daemon's answer is not understood: ${what}`,
    cause,
  });
}

// Everything the SDK throws of its own. Two things come through as they are: an AbortSignal's reason,
// and what a caller's own stream throws.

import type { Command, Diagnostic } from "./records.js";

export interface ErrorFacts {
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  readonly status?: number;
  readonly errors?: readonly Diagnostic[];
  readonly cause?: unknown;
}

function describe(facts: ErrorFacts): string {
  const lines = (facts.errors ?? []).map(({ file, line, column, message }) =>
    line > 0 ? `${file}:${line}:${Math.max(column, 1)}: ${message}` : `${file}: ${message}`,
  );
  return lines.length > 0 ? lines.join("\n") : facts.detail;
}

/** Base of all errors of the SDK; its message is `detail`, or the list of `errors`. */
export class MaitentoError extends Error {
  /**
   * Stable, for programs: the daemon's own code ("not-found", "no-room", "run-ended"...), or "unreachable",
   * "connection-lost", "timed-out", "invalid-answer", "invalid-request" or "command-aborted" of the SDK's.
   */
  readonly kind: string;
  /** A short name of the failure, the same for every one of this kind. */
  readonly title: string;
  /** What went wrong, where, and what to do about it. */
  readonly detail: string;
  /** The HTTP status; undefined when the daemon has not answered. */
  readonly status: number | undefined;
  /** Mistakes in definitions, with their positions; empty for other failures. */
  readonly errors: readonly Diagnostic[];

  constructor(facts: ErrorFacts) {
    super(describe(facts), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.kind = facts.kind;
    this.title = facts.title;
    this.detail = facts.detail;
    this.status = facts.status;
    this.errors = facts.errors ?? [];
  }
}

/** The request is not accepted as it is (400, 413, 416): sending it again does not help. */
export class InvalidRequestError extends MaitentoError {}

/** A deploy was refused and nothing was changed; `errors` has each mistake. */
export class DefinitionInvalidError extends InvalidRequestError {}

/** A key is missing or wrong, or may not do this (401, 403). */
export class NotAllowedError extends MaitentoError {}

/** There is no such thing (404). */
export class NotFoundError extends MaitentoError {}

/** Not possible in the present state (409): the name is taken, the run has ended, the path is a folder... */
export class ConflictError extends MaitentoError {}

/** Not possible now, perhaps later (503, 507): no room for a run, a full disk, too many clients. */
export class UnavailableError extends MaitentoError {}

/** It has taken too long. It may still happen: nothing is ended by this. */
export class MaitentoTimeoutError extends MaitentoError {}

/** Nobody answers ("unreachable"), or the connection was lost in the middle ("connection-lost"). */
export class MaitentoConnectionError extends MaitentoError {}

/** The answer is not what the API promises: another version, or something else that answers. */
export class InvalidAnswerError extends MaitentoError {}

/** The capsule ended before the command did: it was stopped, failed, or its time was up. */
export class CapsuleCommandAbortedError extends MaitentoError {
  /** Its record, with what it had printed by then. */
  readonly command: Command;

  constructor(command: Command) {
    super({
      kind: "command-aborted",
      title: "The capsule ended before the command did",
      detail: `the command was aborted: ${command.reason ?? "its capsule has ended"}`,
    });
    this.command = command;
  }
}

const classes: Readonly<Record<number, typeof MaitentoError>> = {
  400: InvalidRequestError,
  401: NotAllowedError,
  403: NotAllowedError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidRequestError,
  416: InvalidRequestError,
  503: UnavailableError,
  504: MaitentoTimeoutError,
  507: UnavailableError,
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
  const kind = text("code") ?? `status-${status}`;
  const errors = problem["errors"];
  const chosen = kind === "definition-invalid" ? DefinitionInvalidError : classes[status] ?? MaitentoError;
  return new chosen({
    kind,
    title,
    detail: text("detail") ?? text("title") ?? `the daemon answered with status ${status}`,
    status,
    errors: Array.isArray(errors) ? (errors as Diagnostic[]) : [],
  });
}

/** An answer that is not what the API promises. */
export function unexpectedAnswer(what: string, cause?: unknown): InvalidAnswerError {
  return new InvalidAnswerError({
    kind: "invalid-answer",
    title: "The daemon's answer is not understood",
    detail: `the daemon's answer is not understood: ${what}`,
    cause,
  });
}

// What the API answers, as it answers it (docs/api.md has the words' meanings). Times are RFC 3339 in
// UTC, durations "hh:mm:ss". Members marked with ? are left out where they do not apply.

export interface Namespace {
  readonly name: string;
  readonly createdAt: string;
  /** Image of the capsules that name none; absent: the host's. */
  readonly image?: string;
}

export interface FileSystem {
  readonly name: string;
  readonly namespace: string;
  readonly createdAt: string;
}

export interface FileEntry {
  /** Where the name is not UTF-8, with U+FFFD in it; `nameBase64` then has its bytes. */
  readonly name: string;
  readonly nameBase64?: string;
  readonly type: "file" | "folder" | "link" | "other";
  /** In bytes. */
  readonly size: number;
  /** Permission bits as four octal digits: "0664". */
  readonly mode: string;
  readonly modifiedAt: string;
}

export interface Secret {
  readonly name: string;
  readonly namespace: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface CapsuleSummary {
  readonly name: string;
  readonly namespace: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Capsule extends CapsuleSummary {
  /** The recipe with its defaults filled in and references as {namespace, name}. */
  readonly definition: Readonly<Record<string, unknown>>;
  /** The .mtr text it was deployed from. */
  readonly source: string;
}

/** A mistake in a definition. */
export interface Diagnostic {
  readonly file: string;
  /** From 1; 0: the file as a whole. */
  readonly line: number;
  /** In characters, from 1. */
  readonly column: number;
  /** The property it is about. */
  readonly name: string;
  readonly message: string;
}

export interface DeployReport {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly unchanged: readonly string[];
  /** Files of kinds that the daemon does not support. */
  readonly skipped: readonly string[];
}

export type CapsuleRunStatus = "Starting" | "Running" | "Finished" | "Error" | "Terminated";
export type CapsuleRunPhase = "none" | "booting" | "mounting" | "users" | "packages" | "startup" | "ending";

export interface CapsuleRun {
  readonly id: string;
  readonly namespace: string;
  readonly capsule: string;
  readonly status: CapsuleRunStatus;
  readonly phase: CapsuleRunPhase;
  /** Why it failed, or is going to end. */
  readonly failureDetails?: string;
  readonly createdAt: string;
  readonly readyAt?: string;
  readonly endedAt?: string;
  readonly maxDuration: string;
  /** Empty until it is chosen. */
  readonly accelerator: "" | "tcg" | "kvm";
  readonly transport: "" | "serial" | "vsock";
  /** "local", "key:ID" or "run:ID". */
  readonly startedBy: string;
  /** Version of the image it has started from. */
  readonly image?: string;
}

export type CommandStatus = "Queued" | "Running" | "Finished" | "Error" | "Aborted";
export type CommandEndReason =
  | "exited"
  | "signaled"
  | "timedOut"
  | "outOfMemory"
  | "failedToStart"
  | "killed"
  | "canceled"
  | "capsuleEnded";

export interface CommandSummary {
  readonly id: string;
  readonly runId: string;
  /** Its place among the commands of its run, from 1. */
  readonly sequence: number;
  readonly command: string;
  readonly arguments: readonly string[];
  readonly runAsUser: string;
  readonly async: boolean;
  readonly maxDuration?: string;
  readonly status: CommandStatus;
  readonly endReason?: CommandEndReason;
  /** A sentence, where the end reason alone does not tell enough. */
  readonly reason?: string;
  /** 128 + n for signals; absent while it has not ended, and when it was cancelled or aborted. */
  readonly exitCode?: number;
  readonly runTimeMs?: number;
  readonly peakMemoryBytes?: number;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
}

export interface Command extends CommandSummary {
  /** The last 65,536 characters. */
  readonly outputStandard: string;
  readonly outputError: string;
  /** In characters (Unicode code points), present when there was more than is kept. */
  readonly outputStandardFullLength?: number;
  readonly outputErrorFullLength?: number;
}

export interface CommandRequest {
  /** Shell text, for the user's login shell. */
  readonly command: string;
  /** Each reaches the program as exactly one word, whatever it contains. */
  readonly arguments?: readonly string[];
  /** "maitento" unless given. */
  readonly runAsUser?: string;
  /** "hh:mm:ss", or milliseconds; the command is killed then, with exit code 124. */
  readonly maxDuration?: string | number;
  /** Let the next command start without waiting for this one. */
  readonly async?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  /** The user's home folder unless given. */
  readonly workingDirectory?: string;
  /** Nothing ("none"), what sendInput() brings ("pipe"), or a text followed by end-of-file. */
  readonly stdin?: "none" | "pipe" | { readonly text: string };
  /** Hold the command, 30 s at most, until somebody follows its output, so that none of it is lost. */
  readonly holdOutput?: boolean;
}

export interface Image {
  readonly name: string;
  /** `name-` and 12 hexadecimal digits; a name too, of exactly this one. */
  readonly version: string;
  /** It is what the name alone stands for. */
  readonly current: boolean;
  /** Capsules that name no image start from it, unless their namespace has another. */
  readonly default: boolean;
  /** Why it cannot be used; then nothing below is known. */
  readonly problem?: string;
  readonly createdAt?: string;
  readonly debianVersion?: string;
  /** Size of a run's disk, at least. */
  readonly diskBytes?: number;
  readonly fileBytes?: number;
  /** What came from elsewhere than Debian. */
  readonly archives?: readonly { readonly name: string; readonly what: string; readonly version: string }[];
  /** What belongs into the image and is not there. */
  readonly missing?: readonly { readonly name: string; readonly what: string; readonly reason: string }[];
  /** Absent in lists. */
  readonly packages?: readonly { readonly name: string; readonly version: string }[];
}

export interface Health {
  readonly status: "ok";
  readonly version: string;
}

export interface RunEventData {
  readonly runId: string;
  readonly namespace: string;
  readonly capsule: string;
  readonly status: CapsuleRunStatus;
  readonly phase: CapsuleRunPhase;
  readonly failureDetails?: string;
}

export interface CommandEventData {
  readonly runId: string;
  readonly commandId: string;
  readonly sequence: number;
  readonly status: CommandStatus;
  readonly endReason?: CommandEndReason;
  readonly exitCode?: number;
}

interface EventFacts {
  /** Rises from event to event; what `after` takes. */
  readonly id: number;
  readonly namespace: string;
  readonly at: string;
}

export type CapsuleEvent = EventFacts &
  (
    | { readonly type: "run.started" | "run.phase" | "run.ready" | "run.ended"; readonly data: RunEventData }
    | { readonly type: "command.started" | "command.ended"; readonly data: CommandEventData }
  );

export interface Page<T> {
  readonly items: readonly T[];
  /** To be given as `after` for the next page; empty: there is no more. */
  readonly next: string;
}

export interface PageRequest {
  /** 1 to 1000; 100 unless given. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
}

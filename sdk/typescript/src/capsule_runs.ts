import type { CallOptions } from "./abort.js";
import { answerLimit, pollSeconds, readText } from "./calls.js";
import type { Calls, CreateOptions } from "./calls.js";
import { CapsuleCommandAbortedError } from "./errors.js";
import { OutputFollower } from "./output_follower.js";
import type { FollowOptions, OutputPiece } from "./output_follower.js";
import { encodePart, withQuery } from "./paths.js";
import type {
  CapsuleRun,
  CapsuleRunStatus,
  Command,
  CommandRequest,
  CommandSummary,
  Page,
  PageRequest,
} from "./records.js";
import type { ByteSource } from "./transport.js";

export interface RunFilter extends PageRequest {
  /** Of all namespaces that may be seen instead of the client's own. */
  readonly allNamespaces?: boolean;
  readonly status?: CapsuleRunStatus;
  /** Only those that have not ended. */
  readonly live?: boolean;
}

export interface WaitOptions extends CallOptions {
  /** "started": it is no longer Starting (it may have failed); "ended", the default. */
  readonly until?: "started" | "ended";
}

export interface InputOptions extends CallOptions {
  /** Offset of the first byte within the whole input, for the rest of one that was cut off; 0 unless given. */
  readonly from?: number;
  /** End-of-file after these bytes; true unless given. */
  readonly close?: boolean;
}

export function hasEnded(run: CapsuleRun): boolean {
  return run.status !== "Starting" && run.status !== "Running";
}

export function isOver(command: CommandSummary): boolean {
  return command.status !== "Queued" && command.status !== "Running";
}

/** Machines from their start to their end, by the id that `capsules.start` gives, and their commands. */
export class CapsuleRuns {
  constructor(
    private readonly calls: Calls,
    private readonly namespace: string,
  ) {}

  #at(run: string): string {
    return `/v1/runs/${encodePart(run)}`;
  }

  #commandAt(run: string, command: string): string {
    return `${this.#at(run)}/commands/${encodePart(command)}`;
  }

  /** Newest first. */
  async list(filter: RunFilter = {}, options: CallOptions = {}): Promise<Page<CapsuleRun>> {
    const { allNamespaces = false, ...query } = filter;
    const namespace = allNamespaces ? undefined : this.namespace;
    return await this.calls.get(withQuery("/v1/runs", { namespace, ...query }), options);
  }

  async get(run: string, options: CallOptions = {}): Promise<CapsuleRun> {
    return await this.calls.get(this.#at(run), options);
  }

  /** Returns as soon as it has happened: the daemon is asked to answer then, it is not asked again and again. */
  async wait(run: string, options: WaitOptions = {}): Promise<CapsuleRun> {
    const { until = "ended" } = options;
    const target = withQuery(this.#at(run), { wait: `${pollSeconds}s`, until });
    for (;;) {
      const record = await this.calls.get<CapsuleRun>(target, options, pollSeconds);
      if (until === "started" ? record.status !== "Starting" : hasEnded(record)) return record;
    }
  }

  /** Stops it and returns once it has ended. Stopping one that has ended is no error. */
  async terminate(run: string, options: CallOptions = {}): Promise<CapsuleRun> {
    const stop = () => this.calls.post<CapsuleRun>(`${this.#at(run)}/terminate`, {}, options);
    return await this.calls.reconnecting(options, stop);
  }

  /** What the machine wrote to its console. */
  async readConsole(run: string, options: CallOptions = {}): Promise<string> {
    const { signal } = options;
    const target = `${this.#at(run)}/console`;
    return await this.calls.reconnecting(options, async () =>
      readText(await this.calls.open({ method: "GET", target, silenceLimit: answerLimit, signal })),
    );
  }

  /** Sends a command and returns at once. Kind "run-ended" when it is too late. */
  async exec(run: string, request: CommandRequest, options: CreateOptions = {}): Promise<Command> {
    return await this.calls.create(`${this.#at(run)}/commands`, request, options);
  }

  /**
   * Sends a command and waits for its end, across a restart of the daemon. A command that fails is a
   * result: status Error and its exit code. An aborted signal ends the waiting, not the command.
   *
   * Throws CapsuleCommandAbortedError when the capsule ends before the command does.
   */
  async execAndWait(run: string, request: CommandRequest, options: CreateOptions = {}): Promise<Command> {
    const command = await this.exec(run, request, options);
    return await this.waitForCommand(run, command.id, options);
  }

  /** The second half of execAndWait, for a command that was sent before. */
  async waitForCommand(run: string, command: string, options: CallOptions = {}): Promise<Command> {
    const target = withQuery(this.#commandAt(run, command), { wait: `${pollSeconds}s` });
    for (;;) {
      const record = await this.calls.get<Command>(target, options, pollSeconds);
      if (record.status === "Aborted") throw new CapsuleCommandAbortedError(record);
      if (isOver(record)) return record;
    }
  }

  /** As it is now. */
  async getCommand(run: string, command: string, options: CallOptions = {}): Promise<Command> {
    return await this.calls.get(this.#commandAt(run, command), options);
  }

  /** Without their outputs, newest first. */
  async listCommands(
    run: string,
    page: PageRequest = {},
    options: CallOptions = {},
  ): Promise<Page<CommandSummary>> {
    return await this.calls.get(withQuery(`${this.#at(run)}/commands`, { ...page }), options);
  }

  /** Sends a signal (1 to 64) to the command with all its children; 9 unless given. Kind "command-ended". */
  async killCommand(run: string, command: string, signal = 9, options: CallOptions = {}): Promise<Command> {
    return await this.calls.post(`${this.#commandAt(run, command)}/kill`, { signal }, options);
  }

  /** Standard input of a command that was sent with `stdin: "pipe"`. Kind "input-closed" once nobody reads it. */
  async sendInput(
    run: string,
    command: string,
    input: string | Uint8Array | ByteSource,
    options: InputOptions = {},
  ): Promise<void> {
    const { from, close = true } = options;
    const target = withQuery(`${this.#commandAt(run, command)}/input`, { from, close });
    await this.calls.upload("POST", target, input, options, 0); // it may be left unread for long
  }

  /**
   * Both outputs as they are printed, from the beginning on, and last the command when it has ended.
   * Taken up again where it was when the connection is lost. Leaving the loop stops following.
   */
  followOutput(
    run: string,
    command: string,
    options: FollowOptions = {},
  ): AsyncGenerator<OutputPiece, void, undefined> {
    return new OutputFollower(this.calls, this.#commandAt(run, command), options).pieces();
  }
}

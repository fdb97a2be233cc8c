// What sdk_typescript_cases.py runs against a real daemon: one line of JSON for each thing that is seen.

import { CapsuleCommandAbortedError, Maitento, MaitentoError } from "@maitento/sdk";
import type { Command } from "@maitento/sdk";

function report(step: string, value: unknown): void {
  console.log(JSON.stringify({ step, value }));
}

function facts(command: Command): unknown[] {
  return [command.status, command.exitCode, command.outputStandard, command.outputError];
}

async function failure(trying: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await trying;
  } catch (error) {
    if (!(error instanceof MaitentoError)) throw error;
    return { class: error.name, kind: error.kind, status: error.status, message: error.message };
  }
  throw new Error("it did not fail");
}

async function text(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder("utf-8");
  let all = "";
  for await (const piece of pieces) all += decoder.decode(piece, { stream: true });
  return all;
}

async function* lines(count: number): AsyncGenerator<string> {
  for (let number = 0; number < count; number += 1) yield `line ${number}\n`;
}

async function tryFiles(mt: Maitento): Promise<void> {
  report("refused", await failure(mt.vfs.create({ name: "notes" })));
  await mt.namespaces.create({ name: mt.namespace });
  report("namespace", (await mt.namespaces.find(mt.namespace))?.name);
  report("no-vfs", (await mt.vfs.findByName("notes")) ?? null);
  await mt.vfs.create({ name: "notes" });
  const files = mt.vfs.open("notes");
  await files.writeText("/deep/grün (1)%.txt", "ä\n");
  await files.writeBytes("/bytes", Uint8Array.of(0, 255));
  await files.writeStream("/lines", lines(20_000));
  report("text", await files.readText("/deep/grün (1)%.txt"));
  report("bytes", [...(await files.readBytes("/bytes"))]);
  report("stream", (await text(files.readStream("/lines"))).split("\n").length);
  await files.makeFolder("/kept/empty");
  await files.move("/bytes", "/kept/moved");
  report("stat", (await files.stat("/kept/moved")).size);
  report("not-empty", (await failure(files.delete("/kept")))["kind"]);
  await files.delete("/kept", { recursive: true });
  report("list", (await files.list()).map((entry) => `${entry.type} ${entry.name}`).sort());
  report("missing", await failure(files.readText("/missing")));
  await mt.secrets.set("token", "not to be seen\n");
  report("secrets", (await mt.secrets.list()).map((secret) => secret.name));
}

async function tryCommands(mt: Maitento): Promise<void> {
  await mt.deploy("definitions");
  const events = mt.events({ after: 0 }); // opened before the daemon is killed, read after that
  await events.open();
  const { id } = await mt.capsules.start("bench");

  // Sent while the machine starts.
  const user = { runAsUser: "sandbox" };
  const echo = { command: "printf '<%s>'", arguments: ["a b", "$HOME", ""], ...user };
  report("arguments", facts(await mt.capsuleRuns.execAndWait(id, echo)));
  report("denied", facts(await mt.capsuleRuns.execAndWait(id, { command: "cat /mnt/notes/lines", ...user })));
  report("absent", facts(await mt.capsuleRuns.execAndWait(id, { command: "sqlite3 --version", ...user })));
  report("secret", facts(await mt.capsuleRuns.execAndWait(id, { command: "cat /mnt/secrets/token" })));
  report("late", facts(await mt.capsuleRuns.execAndWait(id, { command: "sleep 600", maxDuration: 300 })));
  report("input", facts(await mt.capsuleRuns.execAndWait(id, { command: "wc -c", stdin: { text: "abc" } })));

  const piped = await mt.capsuleRuns.exec(id, { command: "tr a-z A-Z; echo end >&2", stdin: "pipe" });
  await mt.capsuleRuns.sendInput(id, piped.id, lines(2));
  const seen = { standard: "", error: "", status: "" };
  for await (const piece of mt.capsuleRuns.followOutput(id, piped.id)) {
    if (piece.type === "bytes") seen[piece.stream] += new TextDecoder("utf-8").decode(piece.bytes);
    if (piece.type === "ended") seen.status = piece.command.status;
  }
  report("followed", seen);

  const endless = await mt.capsuleRuns.exec(id, { command: "sleep 600" });
  report("killed", facts(await mt.capsuleRuns.killCommand(id, endless.id)));

  // Across a daemon that is killed: the case does so when it reads this line.
  const slow = await mt.capsuleRuns.exec(id, { command: "while ! test -e /mnt/notes/go; do sleep 0.1; done; echo gone" });
  report("restart", id);
  report("survived", facts(await mt.capsuleRuns.waitForCommand(id, slow.id)));

  const last = mt.capsuleRuns.execAndWait(id, { command: "echo begun; sleep 600" });
  const aborted = last.catch((error: unknown) => error);
  const started: number[] = [];
  let newest = "";
  for await (const event of events) {
    if (event.type !== "command.started" || event.data.runId !== id) continue;
    started.push(event.data.sequence);
    newest = event.data.commandId;
    if (started.length === 10) break;
  }
  for await (const piece of mt.capsuleRuns.followOutput(id, newest)) {
    if (piece.type === "bytes") break; // it has begun
  }
  report("started", started);
  report("terminated", (await mt.capsuleRuns.terminate(id)).status);
  const error = await aborted;
  if (!(error instanceof CapsuleCommandAbortedError)) throw error;
  report("aborted", [error.kind, error.command.status, error.command.endReason, error.message]);
  report("too-late", await failure(mt.capsuleRuns.exec(id, { command: "true" })));
  report("live", (await mt.capsuleRuns.list({ live: true })).items.length);
}

const mt = new Maitento();
report("health", (await mt.health()).status);
await tryFiles(mt);
await tryCommands(mt);

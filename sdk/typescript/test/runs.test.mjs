import assert from "node:assert/strict";
import { test } from "node:test";

import { CapsuleCommandAbortedError, Maitento, MaitentoError } from "@maitento/sdk";
import { Patience, reconnectLimit } from "../dist/patience.js";
import { fakeDaemon, json, lost, problem } from "./fake_daemon.mjs";

const run = { id: "r", namespace: "default", capsule: "work", status: "Running", phase: "none" };
const command = { id: "c", runId: "r", command: "true", arguments: [], status: "Queued" };
const poll = "GET /v1/runs/r/commands/c?wait=30s";

async function connected(t) {
  const daemon = await fakeDaemon(t);
  return [daemon, new Maitento({ url: daemon.url, namespace: "default" })];
}

test("run starts, and waits until it has ended", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/namespaces/default/capsules/work/runs", json(201, { ...run, status: "Starting" }));
  daemon.on("GET /v1/runs/r?wait=30s&until=ended", json(200, run), json(200, { ...run, status: "Error", failureDetails: "why" }));
  const ended = await mt.capsules.run("work");
  assert.deepEqual([ended.status, ended.failureDetails], ["Error", "why"]);
  assert.equal(daemon.requests.length, 3);
});

test("a wait for the start ends with whatever is no longer Starting", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/runs/r?wait=30s&until=started", json(200, { ...run, status: "Starting" }), json(200, run));
  assert.equal((await mt.capsuleRuns.wait("r", { until: "started" })).status, "Running");
});

test("execAndWait gives a command that failed as a result", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/runs/r/commands", json(201, command));
  daemon.on(poll, json(200, { ...command, status: "Running" }), json(200, { ...command, status: "Error", exitCode: 3, outputError: "no\n" }));
  const request = { command: "cat", arguments: ["/x y"], runAsUser: "sandbox", maxDuration: 5000, stdin: { text: "in" } };
  const done = await mt.capsuleRuns.execAndWait("r", request);
  assert.deepEqual([done.status, done.exitCode, done.outputError], ["Error", 3, "no\n"]);
  assert.deepEqual(JSON.parse(daemon.requests[0].body), request);
});

test("a capsule that ends first is an error that has the command", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/runs/r/commands", json(201, command));
  daemon.on(poll, json(200, { ...command, status: "Aborted", endReason: "capsuleEnded", reason: "the capsule was stopped" }));
  await assert.rejects(mt.capsuleRuns.execAndWait("r", { command: "true" }), (error) => {
    assert.ok(error instanceof CapsuleCommandAbortedError && error instanceof MaitentoError);
    assert.equal(error.message, "the command was aborted: the capsule was stopped");
    assert.equal(error.command.endReason, "capsuleEnded");
    return true;
  });
});

test("a lost answer to a creating call is asked for again with the same idempotency key", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/runs/r/commands", lost, json(201, command));
  daemon.on(poll, lost, json(200, { ...command, status: "Finished", exitCode: 0 }));
  assert.equal((await mt.capsuleRuns.execAndWait("r", { command: "true" })).exitCode, 0);
  await mt.capsuleRuns.exec("r", { command: "true" });
  await mt.capsuleRuns.exec("r", { command: "true" }, { idempotencyKey: "mine" });
  const keys = daemon.requests.filter((request) => request.method === "POST").map((request) => request.headers["idempotency-key"]);
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[1], keys[2]);
  assert.equal(keys[3], "mine");
});

test("a wait survives a daemon that stops and comes back", async (t) => {
  const [daemon, mt] = await connected(t);
  let polled;
  const waiting = new Promise((resolve) => (polled = resolve));
  daemon.on(poll, polled, json(200, { ...command, status: "Finished", exitCode: 0 }));
  const result = mt.capsuleRuns.waitForCommand("r", "c");
  await waiting;
  await daemon.stop();
  await daemon.listen(daemon.socket);
  assert.equal((await result).exitCode, 0);
});

test("a daemon that has never been there is not waited for", async (t) => {
  const [daemon, mt] = await connected(t);
  await daemon.stop();
  await assert.rejects(mt.capsules.start("work"), { kind: "unreachable", message: /no daemon answers at unix:/ });
});

test("a daemon that is gone is waited for up to the limit, and the last failure is thrown", async () => {
  let now = 0;
  const slept = [];
  const clock = { now: () => now, sleep: async (milliseconds) => void slept.push(milliseconds) || void (now += milliseconds) };
  const patience = new Patience(clock, undefined);
  const failure = new Error("gone");
  await assert.rejects(async () => {
    for (;;) await patience.afterFailure(failure);
  }, failure);
  assert.ok(now <= reconnectLimit && now + 1000 > reconnectLimit, `gave up after ${now} ms`);
  assert.deepEqual(slept.slice(0, 6), [50, 100, 200, 400, 800, 1000]);
  // What has worked in between begins the time anew.
  patience.restore();
  await patience.afterFailure(failure);
  assert.equal(slept.at(-1), 50);
});

test("refusals are not repeated", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/namespaces/default/capsules/work/runs", problem(503, "no-room"));
  await assert.rejects(mt.capsules.start("work"), { kind: "no-room", status: 503 });
  daemon.on("POST /v1/runs/r/commands", problem(409, "run-ended"));
  await assert.rejects(mt.capsuleRuns.exec("r", { command: "true" }), { kind: "run-ended" });
  assert.equal(daemon.requests.length, 2);
});

test("an aborted signal ends a wait with its reason", async (t) => {
  const [daemon, mt] = await connected(t);
  const stop = new AbortController();
  const reason = new Error("enough");
  daemon.on(poll, () => stop.abort(reason)); // and never answers
  await assert.rejects(mt.capsuleRuns.waitForCommand("r", "c", { signal: stop.signal }), (error) => error === reason);
  await assert.rejects(mt.capsuleRuns.get("r", { signal: stop.signal }), (error) => error === reason);
  assert.equal(daemon.requests.length, 1);
});

test("an aborted signal ends the waiting for a daemon that is gone", async (t) => {
  const [daemon, mt] = await connected(t);
  const stop = new AbortController();
  daemon.on(poll, async (request, response) => {
    lost(request, response);
    await daemon.stop();
    stop.abort();
  });
  await assert.rejects(mt.capsuleRuns.waitForCommand("r", "c", { signal: stop.signal }), { name: "AbortError" });
});

test("stopping may be repeated, a kill is not", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/runs/r/terminate", lost, json(200, { ...run, status: "Terminated" }));
  assert.equal((await mt.capsuleRuns.terminate("r")).status, "Terminated");
  daemon.on("POST /v1/runs/r/commands/c/kill", json(200, { ...command, status: "Error", exitCode: 137 }), lost);
  assert.equal((await mt.capsuleRuns.killCommand("r", "c")).exitCode, 137);
  assert.deepEqual(JSON.parse(daemon.requests.at(-1).body), { signal: 9 });
  await assert.rejects(mt.capsuleRuns.killCommand("r", "c", 15), { kind: "connection-lost" });
});

test("lists are of the client's namespace unless all are asked for, page by page", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/runs?namespace=default&live=true", json(200, { items: [run], next: "n" }));
  daemon.on("GET /v1/runs?limit=1&after=n", json(200, { items: [], next: "" }));
  daemon.on("GET /v1/runs/r/commands?after=x", json(200, { items: [command], next: "" }));
  assert.equal((await mt.capsuleRuns.list({ live: true })).next, "n");
  assert.deepEqual((await mt.capsuleRuns.list({ allNamespaces: true, limit: 1, after: "n" })).items, []);
  assert.deepEqual((await mt.capsuleRuns.listCommands("r", { after: "x" })).items, [command]);
});

test("standard input goes out with its offset, and is closed unless it is to stay open", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("POST /v1/runs/r/commands/c/input?close=true", (_request, response) => response.writeHead(204).end());
  daemon.on("POST /v1/runs/r/commands/c/input?from=3", (_request, response) => response.writeHead(204).end());
  await mt.capsuleRuns.sendInput("r", "c", "abc");
  await mt.capsuleRuns.sendInput("r", "c", "def", { from: 3, close: false });
  assert.deepEqual(daemon.requests.map((request) => request.body.toString()), ["abc", "def"]);
});

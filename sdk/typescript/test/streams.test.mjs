import assert from "node:assert/strict";
import { test } from "node:test";

import { Maitento } from "@maitento/sdk";
import { EventParser } from "../dist/event_stream.js";
import { OutputRecords } from "../dist/output_records.js";
import { breakingOff, fakeDaemon, json, lost, problem, streaming } from "./fake_daemon.mjs";

const outputType = "application/vnd.capsule.output";
const target = "/v1/runs/r/commands/c";
const at = (standard, error) => `GET ${target}/output?outputFrom=${standard}&errorFrom=${error}&lossless=true`;

function record(type, stream, offset, payload = "") {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(16);
  head.writeUInt8(type, 0);
  head.writeUInt8(stream, 1);
  head.writeUInt32BE(body.length, 4);
  head.writeBigUInt64BE(BigInt(offset), 8);
  return Buffer.concat([head, body]);
}

function gap(stream, from, to) {
  const end = Buffer.alloc(8);
  end.writeBigUInt64BE(BigInt(to));
  return record(2, stream, from, end);
}

async function connected(t) {
  const daemon = await fakeDaemon(t);
  return [daemon, new Maitento({ url: daemon.url, namespace: "default" })];
}

// Each piece as one word: what is printed, and where.
async function followed(pieces) {
  const words = [];
  for await (const piece of pieces) {
    if (piece.type === "bytes") words.push(`${piece.stream}@${piece.offset}:${Buffer.from(piece.bytes)}`);
    if (piece.type === "gap") words.push(`${piece.stream}-gap:${piece.offset}-${piece.end}`);
    if (piece.type === "ended") words.push(`ended:${piece.command.status}`);
  }
  return words;
}

test("output records are read whatever pieces they arrive in", () => {
  const all = Buffer.concat([record(1, 1, 0, "abc"), record(9, 0, 0, "unknown"), gap(2, 5, 9), record(4, 1, 0), record(5, 0, 0), record(3, 0, 0, "{}")]);
  for (const size of [1, 7, all.length]) {
    const records = new OutputRecords();
    const types = [];
    for (let from = 0; from < all.length; from += size) {
      records.feed(all.subarray(from, from + size));
      for (let next = records.next(); next; next = records.next()) types.push(next.type);
    }
    assert.deepEqual(types, ["bytes", "gap", "stream-ended", "keep-alive", "command-ended"]);
    assert.equal(records.isCutOff, false);
  }
});

test("output records that cannot be are refused", () => {
  const claims = record(1, 1, 0);
  claims.writeUInt32BE(0xffffffff, 4);
  for (const [bytes, why] of [
    [record(1, 3, 0), /names stream 3/],
    [record(2, 1, 0), /has no end/],
    [gap(1, 9, 5), /ends before it starts/],
    [claims, /claims 4294967295 bytes/],
  ]) {
    const records = new OutputRecords();
    records.feed(bytes);
    assert.throws(() => records.next(), { kind: "invalid-answer", message: why });
  }
});

test("both outputs are followed, and the command comes last", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on(at(0, 0), streaming(outputType, record(1, 1, 0, "out"), record(5, 0, 0), record(1, 2, 0, "err"), gap(1, 3, 10), record(1, 1, 10, "late"), record(3, 0, 0, "{}")));
  daemon.on(`GET ${target}`, json(200, { id: "c", status: "Finished", outputStandard: "", outputError: "" }));
  assert.deepEqual(await followed(mt.capsuleRuns.followOutput("r", "c")), ["standard@0:out", "error@0:err", "standard-gap:3-10", "standard@10:late", "ended:Finished"]);
});

test("output that breaks off is taken up where it was, and nothing is delivered twice", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on(at(0, 0), lost, breakingOff(outputType, record(1, 1, 0, "one"), record(1, 2, 0, "e"), record(1, 1, 3, "two").subarray(0, 18)));
  daemon.on(at(3, 1), problem(503, "guest-unavailable"), streaming(outputType, record(1, 1, 1, "netwo"), record(3, 0, 0, "{}")));
  daemon.on(`GET ${target}`, json(200, { id: "c", status: "Error", outputStandard: "", outputError: "" }));
  assert.deepEqual(await followed(mt.capsuleRuns.followOutput("r", "c")), ["standard@0:one", "error@0:e", "standard@3:two", "ended:Error"]);
});

test("what can no longer be followed comes from what was kept, unless it is not known which bytes that is", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on(at(0, 0), problem(409, "command-ended"));
  daemon.on(at(2, 0), problem(409, "command-ended"));
  const kept = { id: "c", status: "Finished", outputStandard: "grün", outputError: "a\uFFFDb" };
  daemon.on(`GET ${target}`, json(200, kept));
  assert.deepEqual(await followed(mt.capsuleRuns.followOutput("r", "c")), ["standard@0:grün", "ended:Finished"]);
  assert.deepEqual(await followed(mt.capsuleRuns.followOutput("r", "c", { outputFrom: 2 })), ["standard@2:ün", "ended:Finished"]);
  daemon.on(`GET ${target}`, json(200, { ...kept, status: "Aborted", outputStandardFullLength: 100 }));
  assert.deepEqual(await followed(mt.capsuleRuns.followOutput("r", "c")), ["ended:Aborted"]);
});

test("following ends with the signal", async (t) => {
  const [daemon, mt] = await connected(t);
  const stop = new AbortController();
  daemon.on(at(0, 0), streaming(outputType, record(1, 1, 0, "x")));
  await assert.rejects(async () => {
    for await (const _piece of mt.capsuleRuns.followOutput("r", "c", { signal: stop.signal })) stop.abort();
  }, { name: "AbortError" });
});

function event(id, type = "run.phase") {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, type, namespace: "default", at: "", data: {} })}\n\n`;
}

test("events are read whatever pieces and line ends they arrive in", () => {
  const text = "retry: 1000\n\n:\n\nid: 1\r\nevent: x\r\ndata: ä\r\ndata:b\r\n\r\nid: 2\rdata\r\r";
  const all = Buffer.from(text);
  for (const size of [1, 3, all.length]) {
    const parser = new EventParser();
    const events = [];
    for (let from = 0; from < all.length; from += size) events.push(...parser.feed(all.subarray(from, from + size)));
    assert.deepEqual(events, [{ id: "1", data: "ä\nb" }, { id: "2", data: "" }], `pieces of ${size}`);
  }
});

test("an event without an end is refused", () => {
  const parser = new EventParser();
  assert.throws(() => parser.feed(Buffer.from(`data: ${"x".repeat(1 << 21)}`)), { kind: "invalid-answer" });
  assert.throws(() => new EventParser().feed(Buffer.from("data\n".repeat((1 << 20) + 1))), { kind: "invalid-answer" });
});

test("events are taken up after the last one seen", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/events", breakingOff("text/event-stream", "retry: 1000\n\n", event(7), "id: 8\nda"), lost, streaming("text/event-stream", event(8), event(9)));
  const ids = [];
  for await (const { id } of mt.events()) {
    ids.push(id);
    if (id === 9) break;
  }
  assert.deepEqual(ids, [7, 8, 9]);
  assert.deepEqual(daemon.requests.map((request) => request.headers["last-event-id"]), [undefined, "7", "7"]);
});

test("events begin where they are asked to, and open() says when the stream is there", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/events", streaming("text/event-stream", event(5)));
  const events = mt.events({ after: 4 });
  await events.open();
  assert.equal(daemon.requests[0].headers["last-event-id"], "4");
  for await (const { id } of events) {
    assert.equal(id, 5);
    break;
  }
  assert.equal(daemon.requests.length, 1);
});

test("an id without an event is where the stream is taken up", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/events", breakingOff("text/event-stream", "retry: 1000\nid: 40\n\n"), streaming("text/event-stream", event(41)));
  const events = mt.events();
  await events.open();
  for await (const { id } of events) {
    assert.equal(id, 41);
    break;
  }
  assert.equal(daemon.requests[1].headers["last-event-id"], "40");
});

test("a refusal of events is an error, and a signal ends them", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/events", problem(503, "too-many-waiting"), streaming("text/event-stream", event(1)));
  await assert.rejects(mt.events().open(), { kind: "too-many-waiting" });
  const stop = new AbortController();
  await assert.rejects(async () => {
    for await (const _event of mt.events({ signal: stop.signal })) stop.abort();
  }, { name: "AbortError" });
});

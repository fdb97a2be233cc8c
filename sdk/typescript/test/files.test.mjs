import assert from "node:assert/strict";
import { test } from "node:test";

import { Maitento, MaitentoConnectionError } from "@maitento/sdk";
import { breakingOff, bytes, fakeDaemon, json, lost, nothing, problem, streaming } from "./fake_daemon.mjs";

const place = "/v1/namespaces/default/vfs/data/files";

async function opened(t) {
  const daemon = await fakeDaemon(t);
  return [daemon, new Maitento({ url: daemon.url, namespace: "default" }).vfs.open("data")];
}

async function collect(pieces) {
  const all = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

test("text and bytes are written and read as they are", async (t) => {
  const [daemon, files] = await opened(t);
  daemon.on(`PUT ${place}/x`, nothing);
  await files.writeText("/x", "\uFEFFgrün\r\n");
  await files.writeBytes("x", Uint8Array.of(0, 255, 10));
  assert.equal(daemon.requests[0].body.toString(), "\uFEFFgrün\r\n");
  assert.deepEqual([...daemon.requests[1].body], [0, 255, 10]);

  daemon.on(`GET ${place}/x`, bytes(Buffer.from("\uFEFFgrün\r\n")), bytes(Buffer.of(0, 255, 10)), bytes(""));
  assert.equal(await files.readText("/x"), "\uFEFFgrün\r\n");
  assert.deepEqual([...(await files.readBytes("/x"))], [0, 255, 10]);
  assert.equal(await files.readText("/x"), "");
});

test("a stream is written piece by piece, text and bytes mixed", async (t) => {
  const [daemon, files] = await opened(t);
  daemon.on(`PUT ${place}/x`, nothing);
  await files.writeStream("/x", (async function* () {
    yield "a";
    yield Buffer.alloc(1 << 20, "b");
    yield "c";
  })());
  const { body } = daemon.requests[0];
  assert.equal(body.length, (1 << 20) + 2);
  assert.equal(body.toString().replace(/b+/, "-"), "a-c");
});

test("a source that fails ends the upload without completing it, and its own error comes back", async (t) => {
  const [daemon, files] = await opened(t);
  daemon.on(`PUT ${place}/x`, nothing);
  const mine = new Error("the source is empty");
  await assert.rejects(
    files.writeStream("/x", (async function* () {
      yield "half";
      throw mine;
    })()),
    (error) => error === mine,
  );
  assert.ok(daemon.requests.every((request) => request.body === undefined));
});

test("a refusal is heard before all of a body was sent", async (t) => {
  const [daemon, files] = await opened(t);
  daemon.server.removeAllListeners("request");
  daemon.server.on("request", (request, response) => {
    request.once("data", () => problem(507, "disk-full")(request, response));
  });
  let open = true;
  t.after(() => (open = false));
  await assert.rejects(
    files.writeStream("/x", (async function* () {
      yield "first";
      while (open) await new Promise((resolve) => setImmediate(resolve));
    })()),
    { kind: "disk-full", status: 507 },
  );
});

test("a stream is read as it arrives, and left when the reader leaves", async (t) => {
  const [daemon, files] = await opened(t);
  let closed;
  const gone = new Promise((resolve) => (closed = resolve));
  daemon.on(`GET ${place}/x`, (request, response) => {
    response.on("close", closed);
    streaming("application/octet-stream", "first")(request, response);
  });
  for await (const piece of files.readStream("/x")) {
    assert.equal(Buffer.from(piece).toString(), "first");
    break;
  }
  await gone;
});

test("a read that breaks off is begun again when it is read as a whole, and an error as a stream", async (t) => {
  const [daemon, files] = await opened(t);
  const half = breakingOff("application/octet-stream", "half");
  daemon.on(`GET ${place}/x`, half, lost, bytes("whole"));
  assert.equal(await files.readText("/x"), "whole");
  daemon.on(`GET ${place}/x`, half);
  await assert.rejects(
    collect(files.readStream("/x")),
    (error) => error instanceof MaitentoConnectionError && error.kind === "connection-lost",
  );
});

test("a folder is listed and not read, a file is read and not listed", async (t) => {
  const [daemon, files] = await opened(t);
  const entry = { name: "x", type: "file", size: 1, mode: "0664", modifiedAt: "2026-01-01T00:00:00Z" };
  daemon.on(`GET ${place}/`, json(200, { entries: [entry] }));
  daemon.on(`GET ${place}/x`, bytes('{"entries":[]}'));
  daemon.on(`GET ${place}/x?stat=true`, json(200, entry));
  assert.deepEqual(await files.list(), [entry]);
  assert.deepEqual(await files.list("/"), [entry]);
  await assert.rejects(files.list("/x"), { kind: "not-a-folder", message: /^\/x: / });
  await assert.rejects(files.readText("/"), { kind: "is-a-folder" });
  await assert.rejects(collect(files.readStream("/")), { kind: "is-a-folder" });
  assert.deepEqual(await files.stat("/x"), entry);
});

test("folders are made, things are moved and deleted", async (t) => {
  const [daemon, files] = await opened(t);
  daemon.on(`POST ${place}/a/b`, nothing);
  daemon.on(`DELETE ${place}/a`, problem(409, "not-empty"));
  daemon.on(`DELETE ${place}/a?recursive=true`, nothing);
  await files.makeFolder("/a/b");
  await files.move("/a/b", "/c d");
  await assert.rejects(files.delete("/a"), { kind: "not-empty" });
  await files.delete("/a", { recursive: true });
  assert.deepEqual(
    daemon.requests.slice(0, 2).map((request) => JSON.parse(request.body)),
    [{ operation: "makeFolder" }, { operation: "move", to: "/c d" }],
  );
});

test("a write whose connection is lost is not repeated", async (t) => {
  const [daemon, files] = await opened(t);
  daemon.on(`PUT ${place}/x`, lost);
  await assert.rejects(files.writeText("/x", "text"), { kind: "connection-lost", status: undefined });
  assert.equal(daemon.requests.length, 1);
});

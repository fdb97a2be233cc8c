import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { DefinitionInvalidError, Maitento, MaitentoError } from "@maitento/sdk";
import { fakeDaemon, json, nothing, problem } from "./fake_daemon.mjs";

const place = "/v1/namespaces/default";

async function connected(t) {
  const daemon = await fakeDaemon(t);
  return [daemon, new Maitento({ url: daemon.url, namespace: "default" })];
}

async function folderWith(t, files) {
  const folder = await mkdtemp(join(tmpdir(), "definitions-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

test("namespaces are found among those that may be seen", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("GET /v1/namespaces", json(200, { items: [{ name: "default", createdAt: "2026-01-01T00:00:00Z" }] }));
  daemon.on("POST /v1/namespaces", json(201, { name: "team", createdAt: "2026-01-01T00:00:00Z" }));
  assert.equal((await mt.namespaces.find("default")).name, "default");
  assert.equal(await mt.namespaces.find("team"), undefined);
  assert.equal((await mt.namespaces.create({ name: "team" })).name, "team");
  assert.deepEqual(JSON.parse(daemon.requests.at(-1).body), { name: "team" });
});

test("a namespace's image is set, and taken back", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on("PUT /v1/namespaces/team/image", json(200, { name: "team", image: "full" }));
  daemon.on("DELETE /v1/namespaces/team/image", json(200, { name: "team" }));
  assert.equal((await mt.namespaces.setImage("team", "full")).image, "full");
  assert.equal((await mt.namespaces.setImage("team", undefined)).image, undefined);
});

test("what does not exist is undefined to a find and an error to everything else", async (t) => {
  const [daemon, mt] = await connected(t);
  assert.equal(await mt.vfs.findByName("data"), undefined);
  assert.equal(await mt.capsules.findByName("x"), undefined);
  await assert.rejects(mt.vfs.delete("data"), { kind: "not-found", status: 404 });
  daemon.on(`GET ${place}/vfs/data`, problem(403, "forbidden"));
  await assert.rejects(mt.vfs.findByName("data"), { kind: "forbidden" });
});

test("an error has all that the daemon said", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on(`POST ${place}/vfs`, problem(409, "already-exists", { detail: "there is a file system 'data'" }));
  await assert.rejects(mt.vfs.create({ name: "data" }), (error) => {
    assert.ok(error instanceof MaitentoError && error instanceof Error);
    const { name, message, kind, title, detail, status, errors } = error;
    assert.deepEqual(
      { name, message, kind, title, detail, status, errors },
      {
        name: "ConflictError",
        message: "there is a file system 'data'",
        kind: "already-exists",
        title: "A title",
        detail: "there is a file system 'data'",
        status: 409,
        errors: [],
      },
    );
    return true;
  });
});

test("an answer that is not the daemon's is an error too", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on(`GET ${place}/vfs`, (_request, response) => response.writeHead(502).end("<html>"), (_request, response) =>
    response.writeHead(200).end("<html>"),
  );
  await assert.rejects(mt.vfs.list(), { status: 502, kind: "status-502", message: /status 502/ });
  await assert.rejects(mt.vfs.list(), { name: "InvalidAnswerError", status: undefined, kind: "invalid-answer", message: /not JSON/ });
});

test("a secret goes out as exactly its bytes", async (t) => {
  const [daemon, mt] = await connected(t);
  daemon.on(`PUT ${place}/secrets/token`, nothing);
  await mt.secrets.set("token", "s3cret\n");
  await mt.secrets.set("token", Uint8Array.of(0, 255));
  assert.deepEqual(daemon.requests.map((request) => [...request.body]), [[...Buffer.from("s3cret\n")], [0, 255]]);
});

test("a deploy sends capsules/*.mtr and names what else there is", async (t) => {
  const [daemon, mt] = await connected(t);
  const report = { created: ["a", "b"], updated: [], unchanged: [], skipped: ["apps/x.mtc"] };
  daemon.on(`POST ${place}/deploy`, json(200, report));
  const folder = await folderWith(t, {
    "capsules/b.mtr": "\uFEFFautoTerminate = true\r\n",
    "capsules/a.mtr": "",
    "capsules/notes.txt": "not sent",
    "apps/x.mtc": "named, not sent",
    ".hidden/capsules/c.mtr": "not sent",
    "data.csv": "not sent",
  });
  assert.deepEqual(await mt.deploy(folder), report);
  assert.deepEqual(JSON.parse(daemon.requests[0].body).files, [
    { path: "apps/x.mtc", content: "" },
    { path: "capsules/a.mtr", content: "" },
    { path: "capsules/b.mtr", content: "\uFEFFautoTerminate = true\r\n" },
  ]);
});

test("a folder that cannot be deployed is refused before anything is sent", async (t) => {
  const [daemon, mt] = await connected(t);
  const without = await folderWith(t, { "x.mtr": "" });
  await assert.rejects(mt.deploy(without), { kind: "invalid-request", message: /no capsules\/\*\.mtr/ });
  await assert.rejects(mt.deploy(join(without, "missing")), { kind: "invalid-request", message: /cannot be read/ });
  const large = await folderWith(t, { "capsules/x.mtr": "x".repeat((1 << 20) + 1) });
  await assert.rejects(mt.deploy(large), { message: /larger than 1 MiB/ });
  const latin = await folderWith(t, { "capsules/x.mtr": Buffer.of(0xe4) });
  await assert.rejects(mt.deploy(latin), { message: /not UTF-8/ });
  assert.equal(daemon.requests.length, 0);
});

test("mistakes in definitions keep their positions", async (t) => {
  const [daemon, mt] = await connected(t);
  const errors = [
    { file: "capsules/x.mtr", line: 3, column: 5, name: "packges", message: "there is no property 'packges'" },
    { file: "capsules/x.mtr", line: 7, column: 1, name: "vfs", message: "there is no file system 'data'" },
  ];
  daemon.on(`POST ${place}/deploy`, problem(400, "definition-invalid", { errors }));
  const folder = await folderWith(t, { "capsules/x.mtr": "" });
  await assert.rejects(mt.deploy(folder), (error) => {
    assert.ok(error instanceof DefinitionInvalidError && error instanceof MaitentoError);
    assert.deepEqual(error.errors, errors);
    assert.equal(
      error.message,
      "capsules/x.mtr:3:5: there is no property 'packges'\ncapsules/x.mtr:7:1: there is no file system 'data'",
    );
    return true;
  });
});

test("images are listed, shown and deleted", async (t) => {
  const [daemon, mt] = await connected(t);
  const image = { name: "base", version: "base-0123456789ab", current: true, default: true };
  daemon.on("GET /v1/images", json(200, { items: [image] }));
  daemon.on("GET /v1/images/base", json(200, image));
  daemon.on("DELETE /v1/images/base-0123456789ab", json(200, image));
  assert.deepEqual(await mt.images.list(), [image]);
  assert.deepEqual(await mt.images.get("base"), image);
  assert.deepEqual(await mt.images.delete(image.version), image);
});

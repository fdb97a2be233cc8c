import assert from "node:assert/strict";
import { test } from "node:test";

import { Maitento, MaitentoError } from "@maitento/sdk";
import { defaultUrl, parseEndpoint } from "../dist/endpoint.js";
import { encodePart, encodePath, withQuery } from "../dist/paths.js";
import { fakeDaemon, json, nothing } from "./fake_daemon.mjs";

test("an endpoint is a Unix socket, or a host with port 80 unless another is given", () => {
  assert.deepEqual(parseEndpoint(defaultUrl).address, { socketPath: "/run/capsuled/api.sock" });
  assert.deepEqual(parseEndpoint("http://example:8080/").address, { host: "example", port: 8080 });
  assert.deepEqual(parseEndpoint("http://example").address, { host: "example", port: 80 });
  const six = parseEndpoint("http://[::1]:81");
  assert.deepEqual(six.address, { host: "::1", port: 81 });
  assert.equal(six.authority, "[::1]:81");
});

test("what is not an address is refused with what to write instead", () => {
  for (const [url, why] of [
    ["", /no known scheme/],
    ["ftp://example", /no known scheme/],
    ["https://example", /TLS proxy/],
    ["unix://relative.sock", /must be absolute/],
    [`unix:///${"x".repeat(107)}`, /at most 107 bytes/],
    ["http://", /not http:\/\/host:port/],
    ["http://-x", /not http:\/\/host:port/],
    ["http://host:", /not http:\/\/host:port/],
    ["http://host:0", /from 1 to 65535/],
    ["http://host:65536", /from 1 to 65535/],
    ["http://host/path", /not http:\/\/host:port/],
  ]) {
    assert.throws(
      () => new Maitento({ url }),
      (error) => error instanceof MaitentoError && error.kind === "invalid-request" && why.test(error.message),
      url,
    );
  }
});

test("environment variables say where, as whom and in which namespace; options go before them", async (t) => {
  const daemon = await fakeDaemon(t);
  const before = { ...process.env };
  t.after(() => Object.assign(process.env, before));
  process.env.MAITENTO_URL = daemon.url;
  process.env.MAITENTO_API_KEY = "key-of-the-environment";
  process.env.MAITENTO_NAMESPACE = "team";
  daemon.on("GET /v1/namespaces/team/vfs", json(200, { items: [] }));
  daemon.on("GET /v1/namespaces/other/vfs", json(200, { items: [] }));
  daemon.on("GET /health", json(200, { status: "ok", version: "1" }));

  await new Maitento().vfs.list();
  await new Maitento({ namespace: "other", key: "given" }).vfs.list();
  process.env.MAITENTO_API_KEY = "";
  process.env.MAITENTO_NAMESPACE = "";
  const plain = new Maitento();
  assert.equal(plain.namespace, "default");
  await plain.health();

  assert.deepEqual(
    daemon.requests.map((request) => [request.target, request.headers.authorization]),
    [
      ["/v1/namespaces/team/vfs", "Bearer key-of-the-environment"],
      ["/v1/namespaces/other/vfs", "Bearer given"],
      ["/health", undefined],
    ],
  );
});

test("a daemon on TCP is reached by name, whichever of its addresses it listens at", async (t) => {
  const daemon = await fakeDaemon(t);
  await daemon.stop();
  await daemon.listen({ host: "127.0.0.1", port: 0 });
  daemon.on("GET /health", json(200, { status: "ok", version: "1" }));
  const { port } = daemon.server.address();
  await new Maitento({ url: `http://localhost:${port}`, key: "k" }).health();
  assert.equal(daemon.requests[0].headers.host, `localhost:${port}`);
});

test("names and paths arrive whatever is in them", async (t) => {
  assert.equal(encodePart("a/b c"), "a%2Fb%20c");
  assert.equal(encodePath("//a/ü (1)?#.txt"), "a/%C3%BC%20%281%29%3F%23.txt");
  assert.equal(encodePath(Uint8Array.of(0x2f, 0x61, 0xff)), "a%FF");
  assert.equal(withQuery("/x", { a: 1, b: undefined, c: false, d: true }), "/x?a=1&d=true");

  const daemon = await fakeDaemon(t);
  daemon.on("PUT /v1/namespaces/default/vfs/data/files/a%20b/%25.csv", nothing);
  await new Maitento({ url: daemon.url, namespace: "default" }).vfs.open("data").writeText("/a b/%.csv", "ä");
  assert.equal(daemon.requests[0].body.toString(), "ä");
});

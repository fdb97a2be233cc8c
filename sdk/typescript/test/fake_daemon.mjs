// A daemon that says what a test tells it to: HTTP on a Unix socket, in this process.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class FakeDaemon {
  /** What arrived: {method, target, headers, body}, the body as a Buffer, undefined where it broke off. */
  requests = [];
  #routes = new Map();
  #sockets = new Set();

  static async start() {
    const daemon = new FakeDaemon();
    daemon.folder = await mkdtemp(join(tmpdir(), "fake-daemon-"));
    daemon.socket = join(daemon.folder, "api.sock");
    daemon.url = `unix://${daemon.socket}`;
    await daemon.listen(daemon.socket);
    return daemon;
  }

  /** `answer(request, response)` for a method and target; of several for the same, the last one stays. */
  on(route, ...answers) {
    this.#routes.set(route, answers);
  }

  async listen(where) {
    this.server = createServer((request, response) => void this.#serve(request, response));
    this.server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise((resolve) => this.server.listen(where, resolve));
  }

  /** As one that was killed: open connections break off. */
  async stop() {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async close() {
    await this.stop();
    await rm(this.folder, { recursive: true });
  }

  async #serve(request, response) {
    const pieces = [];
    const seen = { method: request.method, target: request.url, headers: request.headers, body: undefined };
    this.requests.push(seen);
    try {
      for await (const piece of request) pieces.push(piece);
    } catch {
      return; // broken off
    }
    seen.body = Buffer.concat(pieces);
    const answers = this.#routes.get(`${request.method} ${request.url}`) ?? [problem(404, "not-found")];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    await answer(seen, response);
  }
}

/** A test's daemon, closed when the test is over. */
export async function fakeDaemon(test) {
  const daemon = await FakeDaemon.start();
  test.after(() => daemon.close());
  return daemon;
}

export function json(status, value) {
  return (_request, response) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(value));
  };
}

export function bytes(content) {
  return (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/octet-stream" });
    response.end(content);
  };
}

export function nothing(_request, response) {
  response.writeHead(204);
  response.end();
}

export function problem(status, code, more = {}) {
  return (_request, response) => {
    response.writeHead(status, { "Content-Type": "application/problem+json" });
    response.end(
      JSON.stringify({ type: `urn:capsule:problem:${code}`, title: "A title", status, detail: `a detail of ${code}`, code, ...more }),
    );
  };
}

/** The connection is lost before an answer. */
export function lost(_request, response) {
  response.destroy();
}

/** Begins an answer and leaves it open. */
export function streaming(contentType, ...pieces) {
  return (_request, response) => {
    response.writeHead(200, { "Content-Type": contentType });
    response.flushHeaders();
    for (const piece of pieces) response.write(piece);
  };
}

/** The same, and the connection breaks off when the pieces have been written. */
export function breakingOff(contentType, ...pieces) {
  return (_request, response) => {
    response.writeHead(200, { "Content-Type": contentType });
    response.write(Buffer.concat(pieces.map((piece) => Buffer.from(piece))), () => response.destroy());
  };
}

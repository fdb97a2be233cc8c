// Where a daemon listens, as MAITENTO_URL writes it: unix:///run/capsuled/api.sock or http://host:port.

import { InvalidRequestError } from "./errors.js";

export const defaultUrl = "unix:///run/capsuled/api.sock";

export interface Endpoint {
  /** Normalised, for messages. */
  readonly url: string;
  /** What the Host header says. */
  readonly authority: string;
  readonly address: { socketPath: string } | { host: string; port: number };
}

const longestSocketPath = 107; // bytes: sun_path of sockaddr_un without its zero

function badUrl(url: string, why: string): InvalidRequestError {
  return new InvalidRequestError({
    kind: "invalid-request",
    title: "Not an address",
    detail: `'${url}' is not an address: ${why}; write unix:///path/to/socket or http://host:port`,
  });
}

function parseSocketPath(url: string): Endpoint {
  const path = url.slice("unix://".length);
  if (!path.startsWith("/")) throw badUrl(url, "the path must be absolute");
  if (path.includes("\0")) throw badUrl(url, "it has a zero byte");
  if (Buffer.byteLength(path) > longestSocketPath) {
    throw badUrl(url, `a socket's path has at most ${longestSocketPath} bytes`);
  }
  return { url, authority: "localhost", address: { socketPath: path } };
}

/** Throws InvalidRequestError that says what to write instead. */
export function parseEndpoint(url: string): Endpoint {
  if (url.startsWith("unix://")) return parseSocketPath(url);
  if (url.startsWith("https://")) {
    throw badUrl(url, "https is not spoken here, put a TLS proxy in front");
  }
  if (!url.startsWith("http://")) throw badUrl(url, "it has no known scheme");

  const parts = /^http:\/\/(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._][A-Za-z0-9._-]*))(?::([0-9]+))?\/?$/.exec(url);
  const host = parts?.[1] ?? parts?.[2];
  if (!parts || host === undefined) throw badUrl(url, "it is not http://host:port");
  const port = parts[3] === undefined ? 80 : Number(parts[3]);
  if (port < 1 || port > 65535) throw badUrl(url, "the port is not a number from 1 to 65535");
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return { url: `http://${authority}`, authority, address: { host, port } };
}

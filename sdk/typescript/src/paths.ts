// Targets of requests. Each part of a path is percent-encoded byte by byte, so that a name with any
// character, or one that is not even UTF-8, arrives as it is.

/** A path within a file system, from its root; bytes for names that are not UTF-8. */
export type FilePath = string | Uint8Array;

const plain = /[A-Za-z0-9._~-]/;

function encode(bytes: Uint8Array, keep: string): string {
  let text = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    const stays = byte < 0x80 && (plain.test(character) || keep.includes(character));
    text += stays ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

export function encodePart(part: string): string {
  return encode(Buffer.from(part), "");
}

/** Without the slashes at its beginning; the daemon counts from the root anyway. */
export function encodePath(path: FilePath): string {
  return encode(typeof path === "string" ? Buffer.from(path) : path, "/").replace(/^\/+/, "");
}

/** Path and query; members that are undefined or false are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : [`${name}=${encodePart(String(value))}`],
  );
  return parts.length > 0 ? `${path}?${parts.join("&")}` : path;
}

// Client of the capsule host's HTTP API (docs/sdk-typescript.md).

export { Maitento } from "./maitento.js";
export type { MaitentoOptions } from "./maitento.js";

export {
  CapsuleCommandAbortedError,
  ConflictError,
  DefinitionInvalidError,
  InvalidAnswerError,
  InvalidRequestError,
  MaitentoConnectionError,
  MaitentoError,
  MaitentoTimeoutError,
  NotAllowedError,
  NotFoundError,
  UnavailableError,
} from "./errors.js";

export type { CallOptions } from "./abort.js";
export type { CreateOptions } from "./calls.js";
export type { CapsuleRuns, InputOptions, RunFilter, WaitOptions } from "./capsule_runs.js";
export type { Capsules } from "./capsules.js";
export type { EventOptions, EventStream } from "./event_stream.js";
export type { FileSystems } from "./file_systems.js";
export type { Images } from "./images.js";
export type { Namespaces } from "./namespaces.js";
export type { OpenFileSystem } from "./open_file_system.js";
export type { FollowOptions, OutputPiece } from "./output_follower.js";
export type { OutputStream } from "./output_records.js";
export type { FilePath } from "./paths.js";
export type { Secrets } from "./secrets.js";
export type { ByteSource } from "./transport.js";
export * from "./records.js";

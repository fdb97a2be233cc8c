import type { CallOptions } from "./abort.js";
import type { Calls } from "./calls.js";
import { encodePart } from "./paths.js";
import type { Image } from "./records.js";

/** The images of the host that machines start from. They are built with `mt image build`. */
export class Images {
  constructor(private readonly calls: Calls) {}

  /** Every version of every image. */
  async list(options: CallOptions = {}): Promise<readonly Image[]> {
    return (await this.calls.get<{ items: Image[] }>("/v1/images", options)).items;
  }

  /** By name, its current version, or by version. */
  async get(image: string, options: CallOptions = {}): Promise<Image> {
    return await this.calls.get(`/v1/images/${encodePart(image)}`, options);
  }

  /** One version, and returns what was deleted. Kind "in-use" while a run or a namespace needs it. */
  async delete(image: string, options: CallOptions = {}): Promise<Image> {
    return await this.calls.delete<Image>(`/v1/images/${encodePart(image)}`, options);
  }
}

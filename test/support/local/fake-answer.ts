import { randomUUID } from 'node:crypto';

/** What a server answers. */
export interface Answer {
  status: number;
  body: unknown;
}

/** An answer of Cloudflare's API with a result. */
export function success(result: unknown, info?: object): Answer {
  return {
    status: 200,
    body: { success: true, errors: [], messages: [], result, ...(info && { result_info: info }) },
  };
}

/** An answer of Cloudflare's API with an error. */
export function failure(status: number, code: number, message: string): Answer {
  return {
    status,
    body: { success: false, errors: [{ code, message }], messages: [], result: null },
  };
}

/** A new identifier. */
export function newId(): string {
  return randomUUID();
}

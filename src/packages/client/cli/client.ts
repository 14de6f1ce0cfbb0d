import type { Call } from '../call.ts';
import { Countersign } from '../countersign.ts';

/** The client, which can also send a call that has no method. */
export class CliClient extends Countersign {
  /** Returns the successful answer of any call. */
  send(call: Call): Promise<Response> {
    return this.response(call);
  }
}

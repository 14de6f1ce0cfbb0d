import type { Countersign } from '../../countersign.ts';
import { describeAct } from '../../guard/act.ts';
import type { GuardOptions } from '../../guard/guard.ts';
import type { JsonObject } from '../../json.ts';
import type { ToolArguments } from '../../rules/rules.ts';
import type { ToolCall } from './message.ts';
import type { RequestNames } from './request-names.ts';

/** The most bytes of arguments that the service shows to people. */
export const MAX_SHOWN_BYTES = 16 * 1024;

/** The arguments are too long to be shown to people. */
export class InputTooLarge extends Error {}

interface Asking {
  client: Countersign;
  names: RequestNames;
  options: GuardOptions<ToolArguments>;
  /** Ends the wait. */
  signal: AbortSignal;
  /** Called when a person has to decide. */
  onPending(url: string): void;
}

/**
 * Runs a tool call once it is approved, with a copy of the approved arguments.
 * @param run passes the call to the server, and settles when the server has answered it: what it
 *   throws is how the call ended
 * @throws GuardError, ApiError, TypeError and others when the call is not run, and what `run`
 *   throws
 */
export async function askFor(
  call: ToolCall,
  asking: Asking,
  run: (input: JsonObject) => Promise<void>,
): Promise<void> {
  const { client, names, signal } = asking;
  const options: GuardOptions<ToolArguments> = {
    preview: () => ({ title: `Call the tool ${call.tool}` }),
    ...asking.options,
    // A call that was cancelled, or that took too long, is found again by the next one.
    abandoned: 'keep',
  };
  const act = await describeAct(call.arguments, options, '');
  const size = new TextEncoder().encode(act.canonical).length;
  if (size > MAX_SHOWN_BYTES && !options.hideInput) {
    throw new InputTooLarge(
      `The arguments have ${size} bytes, and people can be shown at most ${MAX_SHOWN_BYTES}.`,
    );
  }
  const name = await names.nameOf(call.tool, act);
  await names.call(name, signal, (externalId, noteWait) => {
    const onPending = ({ url }: { url: string }) => {
      noteWait();
      asking.onPending(url);
    };
    const guarded = client.guard(run, { ...options, onPending });
    return guarded(call.arguments, { externalId, signal });
  });
}

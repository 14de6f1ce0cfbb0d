import type { Countersign } from '../../countersign.ts';
import { describeAct } from '../../guard/act.ts';
import { type GuardOptions, obtainUse, type TakenUse } from '../../guard/guard.ts';
import type { JsonObject } from '../../json.ts';
import type { ToolArguments } from '../../rules/rules.ts';
import { InputTooLarge, MAX_SHOWN_BYTES } from '../mcp/ask.ts';
import { RequestNames } from '../mcp/request-names.ts';
import { previewOf } from './preview.ts';
import type { CodingTool, HookCall } from './tool.ts';

interface Asking {
  tool: CodingTool;
  client: Countersign;
  /** The options of the rule. Its texts are filled in from the tool's arguments. */
  options: GuardOptions<ToolArguments>;
  /** How long to wait for a person, in milliseconds. */
  wait: number;
  signal: AbortSignal;
}

/** The act that is asked for: everything that the event says about it. */
type AskedCall = Pick<HookCall, 'tool' | 'input' | 'cwd'>;

/**
 * Asks for a tool call and takes the use. In one session the same call finds its request again,
 * until its use is taken; a denial holds for the session.
 * @throws GuardError, ApiError, TypeError and others when the call may not run
 */
export async function askForCall(call: HookCall, asking: Asking): Promise<TakenUse> {
  const { client, tool, wait, signal } = asking;
  const options: GuardOptions<AskedCall> = {
    ...onArguments(asking.options),
    preview: previewOf,
    abandoned: 'keep',
    wait,
  };
  const asked: AskedCall = { tool: call.tool, input: call.input, cwd: call.cwd };
  const act = await describeAct(asked, options, '');
  const size = new TextEncoder().encode(act.canonical).length;
  if (size > MAX_SHOWN_BYTES && !options.hideInput) {
    throw new InputTooLarge(
      `The call has ${size} bytes, and people can be shown at most ${MAX_SHOWN_BYTES}.`,
    );
  }
  const names = new RequestNames(client, {
    prefix: 'hook',
    context: [tool, call.session],
    keepsDenials: true,
  });
  const name = await names.nameOf(call.tool, act);
  return await names.call(name, signal, async (externalId, noteWait) => {
    const named = await describeAct(asked, options, externalId);
    return await obtainUse(client, named, { ...options, onPending: noteWait }, signal);
  });
}

/** The texts of a rule read the tool's arguments. */
function onArguments(options: GuardOptions<ToolArguments>): GuardOptions<AskedCall> {
  const { resource, scope, reason } = options;
  const fromCall =
    <T>(value: T | ((input: JsonObject) => T)) =>
    ({ input }: AskedCall): T =>
      value instanceof Function ? value(input) : value;
  return {
    ...options,
    resource: fromCall(resource),
    ...(scope !== undefined && { scope: fromCall(scope) }),
    ...(reason !== undefined && { reason: fromCall(reason) }),
  };
}

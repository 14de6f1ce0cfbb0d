import type { PermissionRequest, Preview, SeriesInput } from '../api.ts';
import { canonicalJson, digestOf } from '../canonical-json.ts';
import { type Duration, toSeconds } from '../duration.ts';
import type { JsonObject } from '../json.ts';
import { present } from '../present.ts';

/** The limits of a permission: upper bounds and allowed values by name. */
export type Limits = JsonObject;

/** A value, or a function that makes it from the input. */
type FromInput<Input, Value> = Value | ((input: Input) => Value);

/** The act that a call asks for. */
export interface ActOptions<Input> {
  /** The action, for example `email.send`. */
  action: FromInput<Input, string>;
  /** The resource, for example `mailbox:support`. */
  resource: FromInput<Input, string>;
  /** The limits that are asked for. */
  scope?: FromInput<Input, Limits>;
  /** Why it is asked for, for the person who decides. */
  reason?: FromInput<Input, string | undefined>;
  /** The text for the person who decides. */
  preview?: FromInput<Input, Preview | undefined>;
  /**
   * The caller's own name for this call, such as a tool call's id; random when absent. A call with
   * the same external id and input finds the same request again, as long as it exists.
   */
  externalId?: FromInput<Input, string>;
  /**
   * How many calls like this one follow, and within how many seconds. People may then approve them
   * all at once.
   */
  series?: FromInput<Input, SeriesInput | undefined>;
  /**
   * Sends only the digest of the input, because it is private or larger than 16 KiB. People do not
   * see the input then.
   */
  hideInput?: boolean;
  /** How long the request waits for a decision: a text such as `1h`, or seconds. At most 7 days. */
  expiresIn?: Duration;
  /** How long an approval can be used: a text such as `15m`, or seconds. At most 7 days. */
  tokenTtl?: Duration;
}

/** A call of a guarded function: its input, and what is asked for it. */
export interface Act {
  /** The input in its canonical form (RFC 8785). */
  canonical: string;
  inputDigest: string;
  externalId: string;
  request: PermissionRequest & { scope: Limits };
}

/**
 * Describes a call of a guarded function.
 * @param externalId replaces the one of the options
 * @throws TypeError for an input or a scope outside JSON
 */
export async function describeAct<Input>(
  input: Input,
  options: ActOptions<Input>,
  externalId: string | undefined,
): Promise<Act> {
  const canonical = canonicalJson(input);
  const inputDigest = await digestOf(canonical);
  // The callbacks get the copy that is sent: what they make belongs to it, even if the caller
  // changes the original.
  const copy: Input = JSON.parse(canonical);
  const name = externalId ?? resolve(options.externalId, copy) ?? crypto.randomUUID();
  const limits = canonicalJson(resolve(options.scope, copy) ?? {}, 'scope');
  const scope: Limits = JSON.parse(limits);
  const shownInput = options.hideInput
    ? { input_digest: inputDigest }
    : { input: JSON.parse(canonical) };
  const request = {
    action: resolve(options.action, copy),
    resource: resolve(options.resource, copy),
    scope,
    ...present({
      reason: resolve(options.reason, copy),
      preview: resolve(options.preview, copy),
      series: resolve(options.series, copy),
      expires_in: toSeconds(options.expiresIn, 'expiresIn'),
      token_ttl: toSeconds(options.tokenTtl, 'tokenTtl'),
    }),
    ...shownInput,
    external_id: name,
    max_uses: 1,
    reports_outcome: true,
  };
  return { canonical, inputDigest, externalId: name, request };
}

function resolve<Input, Value>(value: FromInput<Input, Value>, input: Input): Value {
  return typeof value === 'function' ? (value as (input: Input) => Value)(input) : value;
}

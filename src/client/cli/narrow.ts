import type { Approval, Permission } from '../api.ts';
import { UsageError } from './failures.ts';
import { present, readDuration, readJsonObject, readNumber } from './values.ts';

/** The options with which an approver narrows. */
interface NarrowOptions {
  scope?: string | undefined;
  'token-ttl'?: string | undefined;
  'max-uses'?: string | undefined;
  reason?: string | undefined;
}

/**
 * Returns the body of an approval that narrows nothing but what the options say.
 * @param limits the values of --limit, `key=value`
 * @param readPermission reads the request, whose other limits stay; called only where there are limits
 */
export async function makeApproval(
  options: NarrowOptions,
  limits: string[],
  readPermission: () => Promise<Permission>,
): Promise<Approval> {
  const { scope, reason, 'token-ttl': ttl, 'max-uses': uses } = options;
  if (scope !== undefined && limits.length > 0) throw new UsageError('Give --scope or --limit, not both.');
  const approval = {
    reason,
    scope: scope === undefined ? undefined : readJsonObject(scope, '--scope'),
    token_ttl: ttl === undefined ? undefined : readDuration(ttl, 'token-ttl'),
    max_uses: uses === undefined ? undefined : readNumber(uses, 'max-uses'),
  };
  const narrower = limits.map(readLimit);
  if (narrower.length > 0) {
    const { scope: asked, review } = await readPermission();
    // The votes so far may have left less than what was asked.
    const current = Object.entries(review?.proposal?.scope ?? asked);
    approval.scope = Object.fromEntries([...current, ...narrower]);
  }
  return present(approval);
}

function readLimit(limit: string): [key: string, value: unknown] {
  const [, key, text = ''] = /^([^=]+)=(.*)$/s.exec(limit) ?? [];
  if (key === undefined) throw new UsageError(`--limit ${limit} is not of the form key=value.`);
  return [key, readValue(text)];
}

/** A value in JSON; what is no JSON is a text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

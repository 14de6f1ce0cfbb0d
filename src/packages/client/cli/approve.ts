import type { Approval } from '../api.ts';
import type { Countersign } from '../countersign.ts';
import type { Json } from '../json.ts';
import { present } from '../present.ts';
import { command } from './command.ts';
import { UsageError } from './failures.ts';
import type { Options, Values } from './options.ts';
import { printPermission } from './print.ts';
import { isJson, readDuration, readGiven, readJson, readJsonObject, readNumber } from './values.ts';

const OPTIONS = {
  id: { type: 'positional', description: 'The id of the request, perm_…' },
  limit: {
    type: 'string',
    description: 'A narrower limit',
    valueHint: 'key=value',
    isRepeated: true,
  },
  scope: { type: 'string', description: 'All limits together', valueHint: 'JSON' },
  'token-ttl': {
    type: 'string',
    description: 'How long the approval can be used',
    valueHint: '15m',
  },
  'max-uses': {
    type: 'string',
    description: 'How often the approval can be used',
    valueHint: 'number',
  },
  reason: { type: 'string', description: 'Why, for the agent and the log', valueHint: 'text' },
} as const satisfies Options;

export const approve = command({
  name: 'approve',
  description: 'Approves a request as it was asked, or within narrower limits.',
  args: OPTIONS,
  notes: [
    'A value of --limit is JSON; anything else is a text. Limits that are not named stay as they were asked. A request that ' +
      'needs several approvals stays pending until enough people have approved.',
  ],
  examples: [
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m',
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m --limit max_recipients=10 --reason "Ten are enough"',
  ],
  async run({ args, session }) {
    const { client } = session;
    const permission = await client.approvePermission(args.id, await makeApproval(client, args));
    await printPermission(session, permission);
  },
});

/** Returns the body of an approval that narrows nothing but what the options say. */
async function makeApproval(
  client: Countersign,
  { id, scope, limit, reason, 'token-ttl': ttl, 'max-uses': uses }: Values<typeof OPTIONS>,
): Promise<Approval> {
  if (scope !== undefined && limit.length > 0)
    throw new UsageError('Give --scope or --limit, not both.');
  const approval: Approval = present({
    reason,
    scope: readGiven(readJsonObject, scope, '--scope'),
    token_ttl: readGiven(readDuration, ttl, 'token-ttl'),
    max_uses: readGiven(readNumber, uses, 'max-uses'),
  });
  const narrower = limit.map(readLimit);
  if (narrower.length > 0) {
    const { scope: asked, review } = await client.getPermission(id);
    // The votes so far may have left less than what was asked.
    const current = review?.proposal?.scope ?? asked;
    approval.scope = { ...current, ...Object.fromEntries(narrower) };
  }
  return approval;
}

function readLimit(limit: string): [key: string, value: Json] {
  const [, key, text = ''] = /^([^=]+)=(.*)$/s.exec(limit) ?? [];
  if (key === undefined) throw new UsageError(`--limit ${limit} is not of the form key=value.`);
  if (!isJson(text)) return [key, text];
  return [key, readJson(text, `--limit ${key}`)];
}

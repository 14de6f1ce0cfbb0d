import type { Approval, Series } from '../api.ts';
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
  series: {
    type: 'boolean',
    description: 'Also approve the next requests like it, as many as it asks for',
  },
  'series-requests': {
    type: 'string',
    description: 'How many, this one included',
    valueHint: 'number',
  },
  'series-for': { type: 'string', description: 'For how long', valueHint: '1h' },
  reason: { type: 'string', description: 'Why, for the agent and the log', valueHint: 'text' },
} as const satisfies Options;

export const approve = command({
  name: 'approve',
  description: 'Approves a request as it was asked, or within narrower limits.',
  args: OPTIONS,
  notes: [
    'A value of --limit is JSON; anything else is a text. Limits that are not named stay as they were asked. A request that ' +
      'needs several approvals stays pending until enough people have approved.',
    'Nobody sees the arguments of the requests that a series approves. It gives what the request asks for, unless ' +
      '--series-requests or --series-for say less.',
  ],
  examples: [
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m',
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m --limit max_recipients=10 --reason "Ten are enough"',
    'countersign approve perm_01m7x1m1tre75vaz5yvpbmvt6m --series --series-requests 5',
  ],
  async run({ args, session }) {
    const { client } = session;
    const permission = await client.approvePermission(args.id, await makeApproval(client, args));
    await printPermission(session, permission);
  },
});

/** Returns the body of an approval that narrows nothing but what the options say. */
async function makeApproval(client: Countersign, args: Values<typeof OPTIONS>): Promise<Approval> {
  const { id, scope, limit, reason, 'token-ttl': ttl, 'max-uses': uses } = args;
  if (scope !== undefined && limit.length > 0)
    throw new UsageError('Give --scope or --limit, not both.');
  const approval: Approval = present({
    reason,
    scope: readGiven(readJsonObject, scope, '--scope'),
    token_ttl: readGiven(readDuration, ttl, 'token-ttl'),
    max_uses: readGiven(readNumber, uses, 'max-uses'),
  });
  const narrower = limit.map(readLimit);
  const series = readSeriesOptions(args);
  if (narrower.length === 0 && !series) return approval;
  const permission = await client.getPermission(id);
  // The votes so far may have left less than what was asked.
  const proposal = permission.review?.proposal;
  if (narrower.length > 0) {
    const current = proposal?.scope ?? permission.scope;
    approval.scope = { ...current, ...Object.fromEntries(narrower) };
  }
  if (series) {
    const current = proposal ? proposal.series : permission.series;
    if (!current) throw new UsageError('The request asks for no series, or an approval gave none.');
    approval.series = { ...current, ...series };
  }
  return approval;
}

/** The options of a series by their names in the API; null if the approval gives none. */
function readSeriesOptions({
  series,
  'series-requests': requests,
  'series-for': duration,
}: Values<typeof OPTIONS>): Partial<Series> | null {
  if (!series && requests === undefined && duration === undefined) return null;
  return present({
    requests: readGiven((text, option) => readNumber(text, option, 2), requests, 'series-requests'),
    expires_in: readGiven(readDuration, duration, 'series-for'),
  });
}

function readLimit(limit: string): [key: string, value: Json] {
  const [, key, text = ''] = /^([^=]+)=(.*)$/s.exec(limit) ?? [];
  if (key === undefined) throw new UsageError(`--limit ${limit} is not of the form key=value.`);
  if (!isJson(text)) return [key, text];
  return [key, readJson(text, `--limit ${key}`)];
}

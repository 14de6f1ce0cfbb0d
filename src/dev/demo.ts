import type { AuditEntry, ListAuditEntriesQuery } from '../client/api.ts';
import type { Countersign } from '../client/countersign.ts';
import { ApiError } from '../client/errors.ts';
import { localOrigin, readPort } from './address.ts';
import { connect, failureOf, refusalOf } from './api.ts';
import { registerAgents, rotateKey } from './demo/agents.ts';
import { ensureChannel } from './demo/channel.ts';
import { askForPermissions, decideRequests } from './demo/requests.ts';
import { playReview } from './demo/review.ts';
import { revokeTokens, useTokens } from './demo/tokens.ts';
import type { Actor, PlannedRequest } from './demo/types.ts';
import { readDemoAccount } from './demo-account.ts';
import { findInstance } from './instance.ts';
import { runProgram, UserError } from './user-error.ts';

/** Runs the demo against the running service, and prints what happened. */
async function play(): Promise<void> {
  const origin = findInstance()?.origin ?? localOrigin(readPort());
  const user = await signIn(origin);
  const begun = Date.now();

  const actors = await registerAgents(origin, user);
  heading(`Agents on ${origin}`);
  for (const { name, id } of actors) say(`${name.padEnd(18)} ${id}`);

  const requests = await askForPermissions(actors);
  const decisions = await decideRequests(user, actors, requests);
  heading('Permissions');
  say(`${requests.length} requested by the agents`);
  say(
    `${decisions.approved} approved as requested, ${decisions.narrowed} with a narrower scope, ${decisions.denied} denied`,
  );
  say(`${decisions.waiting} left waiting for you`);

  const { tokens, uses, usedUp, spare } = await useTokens(actors, requests);
  const attempts = await playRefusals(user, requests, spare);
  heading('Tokens');
  say(
    `${tokens} issued, used ${uses} times; ${usedUp} are used up, ${attempts.revoked} were revoked`,
  );
  for (const { what, refusal } of attempts.refused) {
    const { status, code, reason } = refusal;
    say(`Refused: ${what} (${status} ${code}${reason ? `, ${reason}` : ''})`);
  }

  await showReview(origin, user, actors);
  await playRotation(origin, user, actors);
  await showAudit(user, actors, requests);
  await showStatistics(user, actors);
  console.log(`\nThe demo took ${((Date.now() - begun) / 1_000).toFixed(1)} seconds.`);
  console.log(`See it all in the console: ${origin}/console`);
  console.log(
    'Decide in the terminal, with the settings that npm start prints: npm run countersign -- inbox',
  );
}

/** @throws UserError if the service does not run, or does not know the demo account */
async function signIn(origin: string): Promise<Countersign> {
  const account = readDemoAccount();
  const user = account && connect(origin, account.token);
  const failure = user && (await failureOf(user.getOwnAccount({ maxRetries: 0 })));
  if (user && failure === null) return user;
  throw new UserError(
    failure instanceof ApiError
      ? `The service on ${origin} does not know the demo account (${failure.status}). Start it again with npm start.`
      : `The service does not answer on ${origin}. Start it with npm start, then run this again in a second terminal.`,
  );
}

/** Lets agents try what they may not do, and revokes the spare tokens. */
async function playRefusals(
  user: Countersign,
  requests: PlannedRequest[],
  spare: PlannedRequest[],
) {
  const refused: { what: string; refusal: ApiError }[] = [];
  const attempt = async ({ actor }: PlannedRequest, what: string, request: Promise<unknown>) => {
    refused.push({ what: `${actor.name} ${what}`, refusal: await refusalOf(request) });
  };
  const [first] = spare;
  const token = first?.permission.token?.value ?? '';
  const resource = `${first?.permission.resource}-of-somebody-else`;
  const waiting = requests.find(({ permission }) => permission.status === 'pending');
  if (first)
    await attempt(
      first,
      'uses a token for another resource',
      first.actor.api.useToken({ token, resource }),
    );
  const revoked = await revokeTokens(user, spare);
  if (first) await attempt(first, 'uses a revoked token', first.actor.api.useToken({ token }));
  if (waiting) {
    const { actor, permission } = waiting;
    await attempt(waiting, 'approves its own request', actor.api.approvePermission(permission.id));
  }
  return { refused, revoked };
}

async function showReview(origin: string, user: Countersign, [actor]: Actor[]): Promise<void> {
  if (!actor) return;
  const channel = await ensureChannel(origin);
  const { people, paid, waiting, refused } = await playReview(origin, user, actor);
  heading('Review');
  say(
    `${people.map(({ name }) => name).join(' and ')} review payouts: both have to approve, each with a passkey`,
  );
  say(`The channel “${channel}” notifies them by e-mail, if the service is set up to send mail`);
  say(`${paid.id} is ${paid.status}, signed by both`);
  say(`${waiting.id} is ${waiting.status}: it waits for a second approval`);
  say(`Refused: the account's own token approves (${refused.status} ${refused.code})`);
}

async function playRotation(origin: string, user: Countersign, actors: Actor[]): Promise<void> {
  const [actor] = actors;
  if (!actor) return;
  const { prefix, oldKey, newKey } = await rotateKey(origin, user, actor);
  heading('Key rotation');
  say(`${actor.name} has a new key, ${prefix}…: it is answered ${newKey}, the old one ${oldKey}`);
}

async function showAudit(
  user: Countersign,
  actors: Actor[],
  requests: PlannedRequest[],
): Promise<void> {
  heading('Audit log');
  const mine = (
    await Promise.all(actors.map(({ id }) => searchAudit(user, { agent_id: id })))
  ).flat();
  const counts = [...Map.groupBy(mine, ({ event_type }) => event_type)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([event, entries]) => `${entries.length} ${event}`);
  say(`${mine.length} entries of these agents: ${counts.join(', ')}`);

  const today = new Date().toISOString().slice(0, 10);
  const denied = await searchAudit(user, {
    event_type: 'deny',
    action: 'secret.read',
    start_date: today,
  });
  say(
    `${denied.length} denials of secret.read today; the newest says: ${denied[0]?.details.decision_reason}`,
  );

  const longest = requests.find(
    ({ verdict, template }) => typeof verdict === 'object' && template.uses > 2,
  );
  if (!longest) return;
  const { id, action, resource } = longest.permission;
  say(`The story of ${id}, ${action} on ${resource}:`);
  for (const entry of await searchAudit(user, { permission_id: id, order: 'asc' })) {
    const remark = entry.details.decision_reason;
    say(
      `  #${entry.sequence}  ${entry.created_at}  ${entry.event_type}${remark ? ` (${remark})` : ''}`,
    );
  }
}

function searchAudit(user: Countersign, filters: ListAuditEntriesQuery): Promise<AuditEntry[]> {
  return Array.fromAsync(user.listAuditEntries(filters));
}

async function showStatistics(user: Countersign, actors: Actor[]): Promise<void> {
  heading('Statistics of the last 24 hours');
  const columns = [
    ...([
      'total_requests',
      'approved_requests',
      'denied_requests',
      'pending_requests',
      'expired_requests',
    ] as const),
    ...(['tokens_issued', 'tokens_used', 'tokens_revoked'] as const),
  ];
  say(
    ' '.repeat(18) +
      columns.map((name) => name.replace(/_requests|tokens_/, '').padStart(9)).join(''),
  );
  for (const { id, name } of actors) {
    const counts = await user.getAgentStatistics(id, { period: '24h' });
    say(name.padEnd(18) + columns.map((column) => String(counts[column]).padStart(9)).join(''));
  }
}

function heading(text: string): void {
  console.log(`\n${text}`);
}

function say(text: string): void {
  console.log(`  ${text}`);
}

await runProgram(play);

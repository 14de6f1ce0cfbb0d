import type { AuditEntry, ListAuditEntriesQuery } from '../packages/client/api.ts';
import type { Countersign } from '../packages/client/countersign.ts';
import { ApiError } from '../packages/client/errors.ts';
import { localOrigin, readPort } from './address.ts';
import { connect, failureOf, refusalOf } from './api.ts';
import { spendBudget } from './demo/budget.ts';
import { playConnection } from './demo/connection.ts';
import { playOutcomes } from './demo/outcomes.ts';
import { findPeople } from './demo/people.ts';
import { type Actor, type PlayedRequest, playScene, registerAgents } from './demo/play.ts';
import { approve, askForPayout, setUpReview } from './demo/review.ts';
import { playSeries } from './demo/series.ts';
import { readDemoAccount } from './demo-account.ts';
import { findInstance } from './instance.ts';
import { runProgram, UserError } from './user-error.ts';

const STATISTICS = [
  'total_requests',
  'approved_requests',
  'denied_requests',
  'pending_requests',
  'expired_requests',
  'tokens_issued',
  'tokens_used',
  'tokens_revoked',
] as const;

/** Runs the demo against the running service, and prints what happened. */
async function play(): Promise<void> {
  const origin = findInstance()?.origin ?? localOrigin(readPort());
  const user = await signIn(origin);
  const begun = Date.now();

  const actors = await registerAgents(origin, user);
  heading(`Agents on ${origin}`);
  for (const { name, id } of actors) say(`${name.padEnd(18)} ${id}`);

  const played = await Promise.all(actors.map((actor) => playScene(user, actor)));
  const requests = played.flat();
  showPermissions(requests);
  await playTokens(user, requests);
  const [first] = actors;
  if (first) {
    await playReview(origin, user, first);
    await showOutcomes(user, first);
    await playBudget(user, first);
    await showSeries(origin, user, first);
    await showConnection(origin, user, first);
    await playRotation(origin, user, first);
  }
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

function showPermissions(requests: PlayedRequest[]): void {
  const count = (outcome: PlayedRequest['outcome']) =>
    requests.filter((request) => request.outcome === outcome).length;
  heading('Permissions');
  say(`${requests.length} requested by the agents`);
  say(
    `${count('approved')} approved as requested, ${count('narrowed')} with a narrower scope, ${count('denied')} denied`,
  );
  say(`${count('waiting')} left waiting for you`);
}

/** Revokes the tokens that can still be used, and lets an agent try what it may not do. */
async function playTokens(user: Countersign, requests: PlayedRequest[]): Promise<void> {
  const used = requests.filter(({ uses }) => uses > 0);
  const spare = used.filter(({ usesLeft }) => usesLeft > 0);
  const uses = used.reduce((sum, request) => sum + request.uses, 0);
  heading('Tokens');
  say(
    `${used.length} issued, used ${uses} times; ${used.length - spare.length} are used up, ${spare.length} are revoked`,
  );

  const [first] = spare;
  const waiting = requests.find(({ outcome }) => outcome === 'waiting');
  if (!first || !waiting) return;
  const { api, name } = first.actor;
  const token = first.permission.token?.value ?? '';
  const resource = `${first.permission.resource}-of-somebody-else`;
  await showRefusal(`${name} uses a token for another resource`, api.useToken({ token, resource }));
  for (const { permission } of spare) {
    await user.revokeToken({ token_id: permission.token?.id ?? '', reason: 'No longer needed' });
  }
  await showRefusal(`${name} uses a revoked token`, api.useToken({ token }));
  await showRefusal(
    `${waiting.actor.name} approves its own request`,
    waiting.actor.api.approvePermission(waiting.permission.id),
  );
}

/** Has an agent ask for two payouts: two people approve the first one, one the second. */
async function playReview(origin: string, user: Countersign, { api }: Actor): Promise<void> {
  const people = await findPeople(origin, user);
  const [ada, grace] = people;
  if (!ada || !grace) return;
  const channel = await setUpReview(user, people);
  heading('Review');
  say(`${ada.name} and ${grace.name} review payouts: both have to approve, each with a passkey`);
  say(`The channel “${channel}” notifies them by e-mail, if the service is set up to send mail`);
  const first = await askForPayout(api, 1);
  await showRefusal("the account's own token approves", user.approvePermission(first.id));
  const scope = { amount: 900, currency: 'EUR' };
  await approve(origin, ada, first, { scope, reason: 'As invoiced' });
  const paid = await approve(origin, grace, first, { reason: 'Checked against the order' });
  say(`${paid.id} is ${paid.status}, signed by both`);
  const second = await askForPayout(api, 2);
  const waiting = await approve(origin, ada, second, { reason: 'As invoiced' });
  say(`${waiting.id} is ${waiting.status}: it waits for a second approval`);
}

/** Has an agent spend a budget: what it has room for is approved at once, the rest waits. */
async function playBudget(user: Countersign, { api, name }: Actor): Promise<void> {
  const { requests, usage } = await spendBudget(user, api);
  const approved = requests.filter(({ status }) => status === 'approved');
  heading('Budget');
  say(`A policy approves vouchers of at most 50 EUR, 3 a day, of 120 EUR together`);
  say(
    `${name} asks for ${requests.length}: ${approved.length} are approved at once (${usage}), the next one waits for a person`,
  );
}

/** Has a person approve a run of like acts once. */
async function showSeries(origin: string, user: Countersign, { api, name }: Actor): Promise<void> {
  const [person] = await findPeople(origin, user);
  if (!person) return;
  const { first, later } = await playSeries(person, api);
  const approved = later.filter(({ status }) => status === 'approved').length;
  heading('Series');
  say(`${person.name} approves a refund on shop:main, and the next 4 of at most 200 EUR each`);
  say(
    `${name} asks for ${later.length} more: ${approved} are approved at once, that of 900 EUR waits for a person`,
  );
  say(`The rest of the series is live until ${person.name} or another person ends it: ${first.id}`);
}

/** Has an agent use a payment service whose key only Countersign holds. */
async function showConnection(origin: string, user: Countersign, actor: Actor): Promise<void> {
  const calls = await playConnection(origin, user, actor);
  heading('Connection');
  say(`${actor.name} uses a payment service that runs for the demo. Only Countersign has its key`);
  say(
    `It reads the balance: ${calls.read}. It pays 250 EUR: ${calls.before}, it has to be approved`,
  );
  say(`After the approval the same call is sent, once: ${calls.after}, by ${calls.permission}`);
  say(
    `It deletes a payout: ${calls.refused}, because no rule of ${calls.connection.id} allows that`,
  );
}

/** Has an agent say what happened after it used its approvals. */
async function showOutcomes(user: Countersign, { api, name }: Actor): Promise<void> {
  const permissions = await playOutcomes(user, api);
  heading('Outcomes');
  for (const { resource, outcome } of permissions) {
    const words = outcome?.summary ? `: ${outcome.summary}` : '';
    say(`${name} refunds ${resource}. Its outcome, by its own word: ${outcome?.status}${words}`);
  }
  say('What is unknown, or not reported within ten minutes, stands in the inbox: find out first');
}

/** Rotates the key of an agent and ends the old one immediately. */
async function playRotation(origin: string, user: Countersign, actor: Actor): Promise<void> {
  const rotated = await user.rotateAgentKey(actor.id, { revoke_immediately: true });
  const { status } = await refusalOf(actor.api.listPermissions({ limit: 1 }));
  actor.api = connect(origin, rotated.api_key);
  actor.key = rotated.api_key;
  await actor.api.listPermissions({ limit: 1 });
  heading('Key rotation');
  say(
    `${actor.name} has a new key, ${rotated.api_key_prefix}…: it is answered 200, the old one ${status}`,
  );
}

async function showAudit(
  user: Countersign,
  actors: Actor[],
  requests: PlayedRequest[],
): Promise<void> {
  heading('Audit log');
  const logs = await Promise.all(actors.map(({ id }) => searchAudit(user, { agent_id: id })));
  const entries = logs.flat();
  say(`${entries.length} entries of these agents: ${countByEvent(entries).join(', ')}`);

  const today = new Date().toISOString().slice(0, 10);
  const denials = { event_type: 'deny', action: 'secret.read', start_date: today } as const;
  const denied = await searchAudit(user, denials);
  const reason = denied[0]?.details.decision_reason;
  say(`${denied.length} denials of secret.read today; the newest says: ${reason}`);

  const story = requests.find(({ outcome, uses }) => outcome === 'narrowed' && uses > 2);
  if (!story) return;
  const { id, action, resource } = story.permission;
  say(`The story of ${id}, ${action} on ${resource}:`);
  for (const entry of await searchAudit(user, { permission_id: id, order: 'asc' })) {
    const { sequence, created_at, event_type, details } = entry;
    const remark = details.decision_reason ? ` (${details.decision_reason})` : '';
    say(`  #${sequence}  ${created_at}  ${event_type}${remark}`);
  }
}

/** How many entries each event has, the most frequent event first, such as `12 approve`. */
function countByEvent(entries: AuditEntry[]): string[] {
  const groups = [...Map.groupBy(entries, ({ event_type }) => event_type)];
  groups.sort(([, a], [, b]) => b.length - a.length);
  return groups.map(([event, { length }]) => `${length} ${event}`);
}

function searchAudit(user: Countersign, filters: ListAuditEntriesQuery): Promise<AuditEntry[]> {
  return Array.fromAsync(user.listAuditEntries(filters));
}

async function showStatistics(user: Countersign, actors: Actor[]): Promise<void> {
  heading('Statistics of the last 24 hours');
  const titles = STATISTICS.map((name) => name.replace(/_requests|tokens_/, '').padStart(9));
  say(' '.repeat(18) + titles.join(''));
  for (const { id, name } of actors) {
    const counts = await user.getAgentStatistics(id, { period: '24h' });
    const cells = STATISTICS.map((column) => String(counts[column]).padStart(9));
    say(name.padEnd(18) + cells.join(''));
  }
}

async function showRefusal(what: string, call: Promise<unknown>): Promise<void> {
  const { status, code, reason } = await refusalOf(call);
  const why = reason ? `, ${reason}` : '';
  say(`Refused: ${what} (${status} ${code}${why})`);
}

function heading(text: string): void {
  console.log(`\n${text}`);
}

function say(text: string): void {
  console.log(`  ${text}`);
}

await runProgram(play);

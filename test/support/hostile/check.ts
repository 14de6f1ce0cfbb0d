import { formatHexId, idBytes, withPrefix } from '../../../src/lib/typeid';
import type { Json } from '../world';
import { amountsOf, digestOfArrived, effectOf, type Rule, readingsOf } from './oracle';
import { type HostileScene, MOST_BY_POLICY } from './scene';
import { type Arrival, outcomeOf, type Target } from './stand-in';

/** The headers that the service sets, and those that an agent may have sent on. */
const OWN_HEADERS = ['authorization', 'user-agent', 'idempotency-key'];
const FORWARDED = ['accept', 'content-type', 'x-trace'];
const OUTCOMES = ['promised', 'awaited', 'unknown', 'succeeded', 'failed'];
const REPEAT_AFTER = 600_000;

/** What the log says about a permission. */
interface History {
  id: string;
  agent: string;
  events: string[];
  entries: Json[];
}

/**
 * Compares what arrived at the services behind the connections with the log: each request was
 * allowed by a rule, or has one use of exactly this request.
 * @returns the faults, in words, and how often acts were decided by whom
 */
export async function checkArrivals(
  scene: HostileScene,
): Promise<{ faults: string[]; decided: string[] }> {
  const faults: string[] = scene.standIn.isEvilReached ? ['evil.example was reached'] : [];
  const histories = await readHistories(scene);
  const outcomes = await readOutcomes(scene);
  const acts = new Map<string, Arrival[]>();
  for (const arrival of scene.standIn.arrivals) {
    const target = scene.allTargets.find(({ host }) => host === arrival.host) as Target;
    const path = arrival.url.slice(`https://${target.host}/v1`.length).split('?')[0] || '/';
    const fault = findFault(arrival, target, path);
    if (fault) faults.push(`${fault}: ${arrival.method} ${arrival.url}`);
    const token = arrival.headers.get('Idempotency-Key');
    if (token !== null) acts.set(token, [...(acts.get(token) ?? []), arrival]);
  }
  const decided: string[] = [];
  for (const [token, arrivals] of acts) {
    const history = histories.get(withPrefix('perm', token));
    const tell = (text: string) =>
      faults.push(`${text}: ${arrivals.map(({ method, url }) => `${method} ${url}`)}`);
    const usual = JSON.stringify(['request', 'approve', 'use']);
    if (!history || JSON.stringify(history.events) !== usual) {
      tell(`events ${history?.events}`);
      continue;
    }
    decided.push(String(history.entries[1].details.decided_via));
    for (const fault of await findFaultsOfAct(arrivals, history, histories)) tell(fault);
    const outcome = outcomes.get(history.id);
    const expected = outcomeOf(arrivals.at(-1)?.status ?? null);
    // What was refused with 429 and then not sent again has failed.
    if (outcome !== expected) tell(`outcome ${outcome}, not ${expected}`);
  }
  for (const { id, events } of histories.values()) {
    const isOfConnection = outcomes.has(id) && !acts.has(withPrefix('token', id));
    if (isOfConnection && events.includes('use'))
      faults.push(`${id} was used, and nothing arrived`);
  }
  faults.push(...(await findRepeats(acts)));
  return { faults, decided };
}

/** What is wrong with a request, whatever the log says. */
function findFault(arrival: Arrival, target: Target, path: string): string | null {
  const { headers, method, expected, rules, usesBefore } = arrival;
  if (headers.get('Authorization') !== `Bearer ${target.secret}`) return 'another credential';
  const names = [...headers.keys()].filter(
    (name) => !OWN_HEADERS.includes(name) && !FORWARDED.includes(name),
  );
  if (names.length > 0) return `the headers ${names}`;
  if (!arrival.url.startsWith(`https://${target.host}/v1`)) return 'another address';
  const effectBy = (given: Rule[] | null) => (given ? effectOf(given, method, path) : 'deny');
  const [now, before] = [effectBy(rules), effectBy(expected.before.get(target.host) ?? null)];
  const effect = now;
  const token = headers.get('Idempotency-Key');
  const read = readingsOf(path).find((reading) => reading.startsWith('/admin'));
  if (read !== undefined) return `a path that may be read as ${read}`;
  if (token === null) {
    const mayBeLate = !expected.isAlone && before === 'allow';
    return effect === 'allow' || mayBeLate ? null : `a call that no rule allows (${effect})`;
  }
  const wasUsedBefore = usesBefore.has(hexOf(token)) && before === 'ask';
  return effect === 'ask' || wasUsedBefore ? null : `an act that no rule asks for (${effect})`;
}

function hexOf(token: string): string {
  return idBytes(withPrefix('perm', token)).toHex();
}

/** What is wrong with the requests of one permission. */
async function findFaultsOfAct(
  arrivals: Arrival[],
  { agent, entries }: History,
  histories: Map<string, History>,
): Promise<string[]> {
  const faults: string[] = [];
  const [{ details: asked }, { details: approved }] = entries;
  for (const [i, arrival] of arrivals.entries()) {
    if (i > 0 && arrivals[i - 1]?.status !== 429) faults.push('arrived twice');
    if (agent !== arrival.expected.agent) faults.push(`in the name of ${agent}`);
    const digest = await digestOfArrived(arrival, OWN_HEADERS);
    if (digest !== asked.input_digest) faults.push('another input');
    if (asked.action === 'item.change') continue;
    const amounts = await amountsOf(arrival);
    if (amounts.length > 1 || amounts[0] !== asked.scope.amount)
      faults.push(`amounts ${amounts}, not ${asked.scope.amount}`);
    const [amount = Number.NaN] = amounts;
    if (approved.decided_via === 'policy' && !(amount <= MOST_BY_POLICY))
      faults.push(`${amount} by a policy for ${MOST_BY_POLICY}`);
    if (approved.decided_via !== 'series') continue;
    const limit = histories.get(approved.decided_by)?.entries[0].details.scope.amount;
    const isWithin = limit === undefined ? amounts.length === 0 : amount <= limit;
    if (!isWithin) faults.push(`${amount} by a series for ${limit}`);
  }
  return faults;
}

/** Finds acts of one name that were repeated though they had not failed. */
async function findRepeats(acts: Map<string, Arrival[]>): Promise<string[]> {
  const lasts = new Map<string, Arrival>();
  const faults: string[] = [];
  for (const arrivals of acts.values()) {
    const last = arrivals.at(-1) as Arrival;
    const { host, expected, at, url, method } = last;
    const name = expected.key ?? (await digestOfArrived(last, OWN_HEADERS));
    const place = JSON.stringify([host, expected.agent, expected.key === null, name]);
    const earlier = lasts.get(place);
    lasts.set(place, last);
    if (!earlier || outcomeOf(earlier.status) === 'failed') continue;
    if (expected.key === null && at >= earlier.at + REPEAT_AFTER) continue;
    faults.push(`repeated after ${earlier.status}: ${method} ${url}`);
  }
  return faults;
}

async function readHistories({ account, other }: HostileScene): Promise<Map<string, History>> {
  const histories = new Map<string, History>();
  for (const entry of [...(await account.log()), ...(await other.log())]) {
    const { permission_request_id: id, agent_id: agent, event_type: event } = entry;
    const history: History = histories.get(id) ?? { id, agent, events: [], entries: [] };
    history.events.push(event);
    history.entries.push(entry);
    histories.set(id, history);
  }
  return histories;
}

/** The outcomes of the permissions of connections. */
async function readOutcomes({ databases }: HostileScene): Promise<Map<string, string>> {
  const outcomes = new Map<string, string>();
  for (const database of databases) {
    const { results } = await database
      .prepare('select hex(id) as id, outcome_state from permissions where connection_id not null')
      .all<{ id: string; outcome_state: number }>();
    for (const { id, outcome_state: state } of results)
      outcomes.set(formatHexId('perm', id.toLowerCase()), OUTCOMES[state] ?? '');
  }
  return outcomes;
}

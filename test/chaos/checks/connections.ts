import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { Arrival, StandIn } from '../stand-in.ts';
import type { StoredAccount, StoredPermission } from '../stored.ts';

const FINAL = ['succeeded', 'failed', 'unknown'];

/**
 * Checks that the service behind the connections got each act at most once, except after it had
 * refused it, that each was used before, and that each use has an outcome which is true.
 * @returns how many acts arrived
 */
export function checkConnections(
  findings: Findings,
  memories: Memory[],
  accounts: StoredAccount[],
  standIn: StandIn,
): number {
  const hold = (holds: boolean, difference: () => string) =>
    findings.check(holds, 'connections', difference);
  const { acts } = standIn;
  const permissions = accounts.flatMap((account) => account.permissions);
  const stored = new Map(permissions.map((each) => [each.id.replace('perm_', 'token_'), each]));
  for (const [token, arrivals] of acts) {
    const tell = () => `${token} arrived, with ${arrivals.map(({ status }) => status)}`;
    const before = arrivals.slice(0, -1);
    hold(
      before.every(({ status }) => status === 429),
      tell,
    );
    const permission = stored.get(token);
    if (permission) hold(permission.tokenUses === 1, () => `${tell()}, and was not used`);
  }
  for (const [token, permission] of stored) {
    if (permission.connection === null) continue;
    const told = () => `${permission.id}: ${permission.outcome}`;
    if (permission.tokenUses !== 1) {
      hold(permission.outcome === 'promised' && !acts.has(token), told);
      continue;
    }
    hold(FINAL.includes(permission.outcome ?? ''), told);
    checkTruth(hold, permission, acts.get(token)?.at(-1));
  }
  for (const memory of memories) checkCalls(hold, memory, standIn.arrivals);
  return acts.size;
}

type Hold = (holds: boolean, difference: () => string) => void;

/** Checks that an outcome is no other than the last answer says. */
function checkTruth(hold: Hold, { id, outcome }: StoredPermission, last: Arrival | undefined) {
  const told = () => `${id}: ${outcome} after ${last ? last.status : 'nothing was sent'}`;
  const status = last?.status ?? null;
  if (outcome === 'succeeded') hold(status === 200, told);
  if (outcome === 'failed') hold(!last || status === 400 || status === 429, told);
}

/** Checks what arrived of each call that agents made, and with which credential. */
function checkCalls(hold: Hold, { calls, connections }: Memory, arrivals: Arrival[]): void {
  const secrets = new Map(connections.map(({ place, secret }) => [place, secret]));
  const own = arrivals.filter(({ place }) => secrets.has(place));
  for (const { place, authorization } of own)
    hold(authorization === `Bearer ${secrets.get(place)}`, () => `${place} got ${authorization}`);
  const byMark = Map.groupBy(own, ({ mark }) => mark);
  for (const { mark, connection, answers } of calls) {
    const arrived = (byMark.get(mark) ?? []).filter(({ place }) => place === connection.place);
    const told = () =>
      `${mark} of ${connection.place} arrived with ${arrived.map(({ status }) => status)}, answered ${answers}`;
    const before = arrived.slice(0, -1);
    hold(
      before.every(({ status }) => status === 429 || status === 400),
      told,
    );
    const successes = answers.filter((status) => status === 200).length;
    hold(successes <= 1 && (successes === 0 || arrived.at(-1)?.status === 200), told);
  }
}

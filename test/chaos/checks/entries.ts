import { isDeepStrictEqual } from 'node:util';
import type { Findings } from '../findings.ts';
import type { Memory, ShownEntry } from '../memory.ts';
import type { StoredAccount } from '../stored.ts';

/** Compares the log that the API shows with the stored log. */
export function checkEntries(
  findings: Findings,
  { traits, pastEntries, id }: Memory,
  account: StoredAccount,
  shown: ShownEntry[],
): void {
  const agents = new Map([...account.agents].map(([id, number]) => [number, id]));
  const bySequence = new Map(shown.map((entry) => [entry.sequence, entry]));
  findings.check(
    bySequence.size === shown.length,
    'API',
    () => `${traits.name}: the API shows an entry twice`,
  );
  for (const {
    sequence,
    id: entry,
    permission,
    agent,
    event,
    createdAt,
    details,
    action,
  } of account.entries) {
    const row = bySequence.get(sequence);
    bySequence.delete(sequence);
    // An entry that the plan no longer keeps is hidden before it is erased.
    if (!row && sequence <= pastEntries) continue;
    const { ip_address, user_agent, ...found } = row ?? ({} as Partial<ShownEntry>);
    const stored = {
      ...{
        id: entry,
        sequence,
        user_id: id,
        agent_id: agents.get(agent),
        permission_request_id: permission,
      },
      ...{ event_type: event, details, created_at: new Date(createdAt).toISOString() },
    };
    const isSame = isDeepStrictEqual(found, stored) && details.action === action;
    findings.check(
      isSame,
      'API',
      () => `${traits.name}: the API shows entry ${sequence} as ${JSON.stringify(found)}`,
    );
  }
  // Only an old entry may have been erased after it was shown.
  for (const sequence of bySequence.keys()) {
    findings.check(
      sequence <= pastEntries,
      'API',
      () => `${traits.name}: the API shows entry ${sequence}, which is not stored`,
    );
  }
}

import { EVENTS, type History } from './history.ts';

/** The state of each permission after its entries. */
export interface States {
  /** The number of its entries that are not erased. */
  entries: Uint32Array;
  /** The index of its last entry in the history, erased or not. */
  last: Uint32Array;
  /** The time of the decision; 0 while there is none. */
  decidedAt: Float64Array;
  /** The code of the status: pending, approved, denied, expired. */
  status: Uint8Array;
  /** The code of the token's status plus one; 0 if there is no token. */
  token: Uint8Array;
  uses: Uint16Array;
}

/** Computes the state of each permission at the end of a history. */
export function replay(history: History): States {
  const count = history.agent.length;
  const states: States = {
    entries: new Uint32Array(count),
    last: new Uint32Array(count),
    decidedAt: new Float64Array(count),
    status: new Uint8Array(count),
    token: new Uint8Array(count),
    uses: new Uint16Array(count),
  };
  const [active, used, expired, revoked] = [1, 2, 3, 4];
  for (let at = 0; at < history.time.length; at++) {
    const permission = history.permission[at] as number;
    const event = EVENTS[history.event[at] as number];
    states.last[permission] = at;
    if (!history.erased[at])
      states.entries[permission] = (states.entries[permission] as number) + 1;
    if (event === 'approve' || event === 'deny') {
      states.decidedAt[permission] = history.time[at] as number;
      states.status[permission] = event === 'approve' ? 1 : 2;
      if (event === 'approve') states.token[permission] = active;
    } else if (event === 'use') {
      const uses = (states.uses[permission] as number) + 1;
      states.uses[permission] = uses;
      if (uses === history.maxUses[permission]) states.token[permission] = used;
    } else if (event === 'revoke') states.token[permission] = revoked;
    else if (event === 'expire' && states.token[permission] === active)
      states.token[permission] = expired;
    else if (event === 'expire') states.status[permission] = 3;
  }
  return states;
}

import type { Attempt, HostileCall } from './attempts';
import { BODIES } from './bodies';
import { PATH_TRICKS } from './path-tricks';

/** A payment that a policy approves. */
export const CALL: HostileCall = {
  do: 'call',
  caller: 'own',
  credential: 'bearer',
  place: 'own',
  line: ['POST', '/payouts'],
  trick: 'none',
  query: '',
  body: 'json',
  amount: 1,
  headers: {},
  key: null,
  answer: '200',
  copies: 1,
  event: null,
  isAgain: false,
};
/** The call before once more. */
export const AGAIN: HostileCall = { ...CALL, isAgain: true };
const APPROVED = { what: 'approve', moment: 'asleep' } as const;
const REFUSED = { what: 'refuse', moment: 'asleep' } as const;

/** Every walk begins with these: each answer of the service, each trick with a path, each body. */
export const USUAL_CALLS: readonly Attempt[] = [
  { ...CALL, line: ['GET', '/items'] },
  // By a policy, by a person, and by a series.
  CALL,
  AGAIN,
  { ...CALL, amount: 900, event: APPROVED },
  { ...CALL, line: ['POST', '/runs'], amount: 60, event: APPROVED },
  { ...CALL, line: ['POST', '/runs'], amount: 50 },
  { ...CALL, amount: 901, event: REFUSED },
  { ...CALL, line: ['PATCH', '/items'], amount: 2 },
  { do: 'wait', seconds: 3_601 },
  AGAIN,
  { ...CALL, amount: 2, key: 'k-1' },
  { ...CALL, amount: 3, key: 'k-1' },
  // What the other service answers.
  { ...CALL, amount: 3, answer: '500' },
  { ...CALL, amount: 4, answer: '302' },
  { ...CALL, amount: 5, answer: '401' },
  { ...CALL, amount: 6, answer: '429' },
  { ...CALL, amount: 7, answer: '429 once' },
  { ...CALL, amount: 8, answer: 'lost' },
  // Refusals.
  { ...CALL, amount: 9, copies: 5 },
  { ...CALL, line: ['GET', '/admin/keys'] },
  { ...CALL, line: ['GET', '/items'], trick: 'encoded dots' },
  { ...CALL, body: 'form in UTF-7' },
  { ...CALL, line: ['PATCH', '/items'], body: 'large' },
  { ...CALL, caller: 'sibling' },
  { ...CALL, caller: 'user token' },
  { ...CALL, caller: 'garbage' },
  { do: 'event', what: 'stop' },
  CALL,
  { do: 'event', what: 'deactivate' },
  CALL,
  { do: 'wait', seconds: 1 },
  ...Object.keys(PATH_TRICKS).map(
    (trick): Attempt => ({
      ...CALL,
      line: ['GET', '/admin/keys'],
      trick,
    }),
  ),
  ...Object.keys(BODIES).map((body): Attempt => ({ ...CALL, amount: 900, body })),
];

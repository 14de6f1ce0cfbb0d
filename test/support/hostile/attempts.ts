import fc from 'fast-check';
import { BODIES } from './bodies';
import { PATH_TRICKS } from './path-tricks';

/** Queries that some services read otherwise than others. */
const QUERIES = [
  ...['?amount=5', '?amount=900', '?amount=5&amount=900', '?amount[]=900', '?%61mount=900'],
  ...['?amount%5B%5D=900', '?amount=5;amount=900', '?x=%ff', '?a?amount=5', '?a=b#c', '?x=%2e%2e'],
  ...['?page=2', '?', '?&&', '?key=1&key=2', '?_method=DELETE'],
];

/** Headers that change how a message is read, who is meant, or where it goes. */
const HEADERS: Record<string, string>[] = [
  { Host: 'evil.example' },
  { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http', Forwarded: 'host=evil' },
  { 'X-Original-URL': '/admin/keys', 'X-Rewrite-URL': '/admin/keys' },
  { 'X-HTTP-Method-Override': 'DELETE', 'X-Method-Override': 'DELETE', 'X-HTTP-Method': 'DELETE' },
  { 'Content-Length': '1' },
  { 'Transfer-Encoding': 'chunked', 'Content-Length': '3' },
  { 'Content-Encoding': 'gzip' },
  { 'Content-Encoding': 'identity' },
  { Connection: 'authorization, idempotency-key, content-type' },
  { Connection: 'upgrade', Upgrade: 'websocket' },
  { Cookie: 'session=1', 'Proxy-Authorization': 'Bearer x', TE: 'trailers', Trailer: 'X-Amount' },
  { 'Countersign-Permission': 'perm_01kg9ys7g0ewpvhwe01000em4k' },
  { 'Sec-Fetch-Mode': 'navigate' },
  { Accept: 'text/html', 'X-Trace': 'a' },
  { 'X-Trace': 'a, b', 'User-Agent': 'curl' },
  { Expect: '100-continue', Range: 'bytes=0-1', 'If-None-Match': '"a"' },
];

/** Where the caller puts its key, and with what beside it. */
const CREDENTIALS = [
  ...(['token', 'basic', 'api key', 'lower case', 'with a foreign key'] as const),
  ...(['two schemes', 'query', 'cookie', 'none'] as const),
];

/** Who calls but the hostile agent: it again, with what it has found. */
const CALLERS = [
  ...(['old key', 'sibling', 'foreign', 'user token', 'token id', 'garbage'] as const),
];

/** Which connection is called but its own. */
const PLACES = ['sibling', 'foreign', 'unknown', 'encoded', 'deleted'] as const;

/** What somebody does while a call is under way, or before it. */
const EVENTS = [
  ...(['stop', 'deactivate', 'switch off', 'deny', 'touch', 'unname', 'delete'] as const),
  ...(['stop', 'deactivate', 'switch off', 'deny', 'touch', 'unname', 'delete'] as const),
  ...(['revoke', 'revoke', 'withdraw', 'withdraw', 'rotate', 'move', 'refuse', 'refuse'] as const),
  ...Array<'approve'>(12).fill('approve'),
];
export type Event = (typeof EVENTS)[number];

/** What ends what an agent may do. */
const ENDINGS = [
  ...(['stop', 'deactivate', 'switch off', 'deny', 'touch', 'unname', 'delete'] as const),
  ...(['revoke', 'rotate', 'move'] as const),
];

/**
 * When it happens: before a database call, while the call waits, or before the other service
 * answers.
 */
const BATCHES = [1, 2, 3, 4, 5, 6] as const;
const MOMENTS = [...BATCHES, 'asleep', 'asleep', 'asleep', 'arrived', 'arrived'] as const;

/** Calls that the rules know. */
const LINES: [method: string, path: string][] = [
  ['GET', '/public/a'],
  ['GET', '/items'],
  ['HEAD', '/items'],
  ['POST', '/payouts'],
  ['POST', '/payouts'],
  ['PUT', '/payouts/8'],
  ['POST', '/payouts/7'],
  ['POST', '/runs'],
  ['POST', '/runs'],
  ['PATCH', '/items'],
];
const METHODS = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  ...['OPTIONS', 'PROPFIND', 'TRACE', 'MKCOL'],
];
const PATHS = [
  ...['/public/a', '/items', '/payouts', '/payouts/7', '/runs', '/admin', '/admin/keys', '/other'],
  '',
];
const KEYS = [...(['fresh', 'fresh', 'k-1', 'k-2', 'token of the last', 'forged', 'k 3'] as const)];

/** How the other service answers. */
const ANSWERS = [
  ...(['201', '302', '307', '308', '400', '401', '404', '408', '409'] as const),
  ...(['429', '429 once', '429 once', '500', 'lost'] as const),
];
export type StandInAnswer = '200' | (typeof ANSWERS)[number];

function usual<T>(weight: number, value: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: others });
}

type Line = [method: string, path: string];

const call = fc.record({
  do: fc.constant('call' as const),
  caller: usual<'own' | (typeof CALLERS)[number]>(12, 'own', fc.constantFrom(...CALLERS)),
  credential: usual<'bearer' | (typeof CREDENTIALS)[number]>(
    8,
    'bearer',
    fc.constantFrom(...CREDENTIALS),
  ),
  place: usual<'own' | (typeof PLACES)[number]>(14, 'own', fc.constantFrom(...PLACES)),
  line: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom<Line>(...LINES) },
    {
      weight: 1,
      arbitrary: fc.tuple<Line>(fc.constantFrom(...METHODS), fc.constantFrom(...PATHS)),
    },
  ),
  trick: usual(4, 'none', fc.constantFrom(...Object.keys(PATH_TRICKS))),
  query: usual(5, '', fc.constantFrom(...QUERIES)),
  body: usual(3, 'json', fc.constantFrom(...Object.keys(BODIES))),
  amount: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 10 }) },
    { weight: 1, arbitrary: fc.constantFrom(50, 60, 900) },
  ),
  headers: usual<Record<string, string>>(5, {}, fc.constantFrom(...HEADERS)),
  key: usual<null | (typeof KEYS)[number]>(1, null, fc.constantFrom(...KEYS)),
  answer: usual<StandInAnswer>(2, '200', fc.constantFrom(...ANSWERS)),
  copies: usual(6, 1, fc.constantFrom(2, 5)),
  event: usual<{ what: Event; moment: (typeof MOMENTS)[number] } | null>(
    2,
    null,
    fc.record({ what: fc.constantFrom(...EVENTS), moment: fc.constantFrom(...MOMENTS) }),
  ),
  /** Whether the call before is made again instead, with this event. */
  isAgain: usual(4, false, fc.constant(true)),
});

/** A call of the hostile agent, and what happens around it. */
export type HostileCall = typeof call extends fc.Arbitrary<infer T> ? T : never;

/**
 * What the hostile agent tries, or others do in between. In a race something ends just before an act
 * that a policy approves, or people have approved.
 */
export type Attempt =
  | HostileCall
  | { do: 'event'; what: Event }
  | { do: 'race'; isAsked: boolean; what: Event; moment: (typeof BATCHES)[number] }
  | { do: 'forge'; amount: number }
  | { do: 'wait'; seconds: number };

export const attempts: fc.Arbitrary<Attempt> = fc.oneof(
  { weight: 20, arbitrary: call },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('event' as const), what: fc.constantFrom(...EVENTS) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('race' as const),
      isAsked: fc.boolean(),
      what: fc.constantFrom(...ENDINGS),
      moment: fc.constantFrom(...BATCHES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('forge' as const), amount: fc.constantFrom(5, 50) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      seconds: fc.constantFrom(1, 61, 601, 901, 3_601),
    }),
  },
);

/** The path and query of a call as they are sent, and its body with its type. */
export function messageOf({ line: [method, path], trick, query, body, amount }: HostileCall): {
  target: string;
  type: string | undefined;
  raw: BodyInit | null;
} {
  const target = (PATH_TRICKS[trick]?.(path) ?? path) + query;
  const { type, raw } = BODIES[body]?.(amount) ?? { raw: '' };
  // The class Request takes no body with these; over HTTP the runtime drops it.
  const takesBody = !['GET', 'HEAD'].includes(method) && raw !== '';
  return { target, type: takesBody ? type : undefined, raw: takesBody ? raw : null };
}

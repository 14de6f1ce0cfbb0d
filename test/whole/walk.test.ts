import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { depth } from '../support/depth';
import { checkIntegrity } from '../support/integrity';
import type { ModelEntry } from '../support/model';
import { ACTIONS, Walk, walks } from '../support/walk';
import type { Json } from '../support/world';

it('the service behaves like its model for any sequence of steps', async () => {
  await fc.assert(
    fc.asyncProperty(walks, async (steps) => {
      const walk = await Walk.start();
      for (const step of steps) await walk.take(step);
      await walk.compare();
      expect((await checkIntegrity(env.DB)).filter((fault) => !isErasure(fault))).toEqual([]);
    }),
    { numRuns: depth.runs(3, 40) },
  );
});

it('the pages of the log equal those of a filter in memory, for random filters, orders and page sizes', async () => {
  const query = fc.record({
    agent: fc.option(fc.nat(1_000), { freq: 2 }),
    permission: fc.option(fc.nat(1_000), { freq: 5 }),
    event: fc.option(fc.constantFrom('request', 'approve', 'deny', 'use', 'expire', 'revoke'), {
      freq: 3,
    }),
    action: fc.option(fc.constantFrom(...ACTIONS, 'never.asked'), { freq: 3 }),
    start: fc.option(fc.nat(1_000), { freq: 3 }),
    end: fc.option(fc.nat(1_000), { freq: 3 }),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    after: fc.option(fc.nat(100), { freq: 6 }),
    limit: fc.constantFrom(1, 2, 3, 7, 50, 1_000),
  });
  await fc.assert(
    fc.asyncProperty(
      walks,
      fc.array(query, { minLength: 12, maxLength: 12 }),
      async (steps, queries) => {
        const walk = await Walk.start();
        for (const step of steps) await walk.take(step);
        const log = walk.visibleLog();
        for (const {
          agent,
          permission,
          event,
          action,
          start,
          end,
          order,
          after,
          limit,
        } of queries) {
          const times = log.map(({ at }) => at);
          const [from, to] = inOrder(pickTime(times, start), pickTime(times, end));
          const filters = {
            agent_id:
              agent === null ? undefined : walk.model.agents[agent % walk.model.agents.length]?.id,
            permission_id:
              permission === null
                ? undefined
                : walk.model.permissions[permission % walk.model.permissions.length]?.id,
            event_type: event ?? undefined,
            action: action ?? undefined,
          };
          const expected = log.filter(
            (entry) =>
              (filters.agent_id ?? entry.agent) === entry.agent &&
              (filters.permission_id ?? entry.permission) === entry.permission &&
              (filters.event_type ?? entry.event) === entry.event &&
              (filters.action ?? entry.action) === entry.action &&
              entry.at >= (from ?? Number.NEGATIVE_INFINITY) &&
              entry.at < (to ?? Number.POSITIVE_INFINITY) &&
              entry.sequence > (order === 'asc' && after !== null ? after : 0),
          );
          const sequences = expected.map(({ sequence }) => sequence);
          const parameters = {
            ...filters,
            start_date: from === undefined ? undefined : new Date(from).toISOString(),
            end_date: to === undefined ? undefined : new Date(to).toISOString(),
            order,
            limit,
          };
          const shown = await readPages(
            walk,
            parameters,
            order === 'asc' && after !== null ? after : undefined,
          );
          expect(shown).toEqual(order === 'asc' ? sequences : sequences.toReversed());
        }
      },
    ),
    { numRuns: depth.runs(2, 20) },
  );
});

/** The sequence numbers of all pages, read by following the cursor. */
async function readPages(
  walk: Walk,
  parameters: Record<string, unknown>,
  after: number | undefined,
): Promise<number[]> {
  const sequences: number[] = [];
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const position = {
      ...(after !== undefined && { after_sequence: after }),
      ...(cursor && { cursor }),
    };
    const search = new URLSearchParams(
      [...given, ...Object.entries(position)].map(([key, value]) => [key, String(value)]),
    );
    const { body }: { body: Json } = await walk.account.must(200, 'GET', `/v1/audit?${search}`);
    expect(body.has_more).toBe(body.next_cursor !== null);
    sequences.push(...body.data.map(({ sequence }: ModelEntry) => sequence));
    cursor = body.next_cursor;
  }
  return sequences;
}

function pickTime(times: number[], place: number | null): number | undefined {
  return place === null ? undefined : times[place % times.length];
}

function inOrder(
  a: number | undefined,
  b: number | undefined,
): [number | undefined, number | undefined] {
  return a !== undefined && b !== undefined && a > b ? [b, a] : [a, b];
}

/** Whether a fault is expected between the deletion of an agent and the end of its erasure. */
function isErasure(fault: string): boolean {
  return fault.startsWith('a gap or a double');
}

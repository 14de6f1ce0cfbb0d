import type { Permission, SeriesInput } from '../../packages/client/api.ts';
import type { Countersign } from '../../packages/client/countersign.ts';
import type { Person } from './people.ts';

const SERIES: SeriesInput = { requests: 5, expires_in: 3_600, varies: ['max_amount'] };

/** The requests of an agent: the first one of a series, and those that followed. */
interface Run {
  first: Permission;
  later: Permission[];
}

/**
 * Has an agent ask for a run of like refunds, and a person approve the first one with the series:
 * the others are then approved at once, except the last, which is for more than was given.
 */
export async function playSeries({ api: person }: Person, agent: Countersign): Promise<Run> {
  const ask = (order: number, amount: number, series?: SeriesInput) =>
    agent.requestPermission({
      action: 'refund.pay',
      resource: 'shop:main',
      scope: { max_amount: amount, currency: 'EUR' },
      input: { order: `2026-${order}`, amount },
      reason: 'The parcel arrived damaged',
      ...(series && { series }),
    });
  const asked = await ask(1, 200, SERIES);
  const first = await person.approvePermission(asked.id, {
    series: SERIES,
    reason: 'The carrier confirmed it',
  });
  const later: Permission[] = [];
  for (const [order, amount] of [120, 80.5, 200, 900].entries())
    later.push(await ask(order + 2, amount));
  return { first, later };
}

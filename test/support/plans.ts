import type { Json } from './world';

/** The fields that create an account, and the days for which it then keeps its entries. */
export const KEPT_DAYS: [fields: Json, days: number][] = [
  [{ plan: 'free' }, 7],
  [{ plan: 'pro' }, 90],
  [{ plan: 'team' }, 365],
  [{ plan: 'enterprise' }, 2557],
  [{ plan: 'enterprise', audit_retention_days: 1 }, 1],
];

/** Plans. The database stores their places in this list: append, never reorder. */
export const PLANS = ['free', 'pro', 'team', 'enterprise'] as const;

export type Plan = (typeof PLANS)[number];

/** The days for which a plan keeps audit entries. Enterprise accounts may choose fewer. */
export const RETENTION_DAYS: Record<Plan, number> = {
  free: 7,
  pro: 90,
  team: 365,
  enterprise: 2557,
};

export const MAX_RETENTION_DAYS = RETENTION_DAYS.enterprise;

/**
 * The days for which an account's audit entries are kept: its own setting on the enterprise plan,
 * else those of its plan.
 */
export function retentionDays(account: { plan: Plan; auditRetentionDays: number | null }): number {
  const own = account.plan === 'enterprise' ? account.auditRetentionDays : null;
  return own ?? RETENTION_DAYS[account.plan];
}

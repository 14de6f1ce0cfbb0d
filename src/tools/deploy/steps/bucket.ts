import { callWrangler } from '../call-wrangler.ts';
import type { Deployment, Step } from '../deployment.ts';
import type { LifecycleRule } from '../found.ts';

/** Deletes files that a recovery left behind. Files live for a day. */
const RULE = { name: 'leftovers', prefix: 'files/', days: 7 };

/** Makes the bucket, and the rule that deletes what is left behind in it. */
export function bucketSteps({ found, options, jurisdiction, account, signal }: Deployment): Step[] {
  const variables = { CLOUDFLARE_ACCOUNT_ID: account };
  const where = jurisdiction ? ['--jurisdiction', jurisdiction] : [];
  const location = options.location ? ['--location', options.location] : [];
  return [...found.buckets].flatMap(([bucket, rules]) => [
    {
      kind: 'bucket',
      name: bucket,
      isDone: rules !== null,
      run: async () => {
        await callWrangler(
          ['r2', 'bucket', 'create', bucket, ...where, ...location],
          signal,
          variables,
        );
      },
    },
    {
      kind: 'lifecycle rule',
      name: `${RULE.prefix} deleted after ${RULE.days} days`,
      isDone: rules?.some(deletesLeftovers) ?? false,
      run: async () => {
        const words = [
          bucket,
          RULE.name,
          RULE.prefix,
          '--expire-days',
          String(RULE.days),
          '--force',
          ...where,
        ];
        await callWrangler(['r2', 'bucket', 'lifecycle', 'add', ...words], signal, variables);
      },
    },
  ]);
}

/** Whether a rule does what {@link RULE} does, whatever its name and its time. */
function deletesLeftovers({
  enabled,
  conditions,
  deleteObjectsTransition,
}: LifecycleRule): boolean {
  return (
    enabled &&
    conditions?.prefix === RULE.prefix &&
    deleteObjectsTransition?.condition.type === 'Age'
  );
}

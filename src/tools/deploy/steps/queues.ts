import { UserError } from '../../user-error.ts';
import { callWrangler } from '../call-wrangler.ts';
import { type Configuration, queueNames } from '../configuration.ts';
import type { Deployment, Step } from '../deployment.ts';
import type { Found, FoundQueue } from '../found.ts';

/**
 * Returns a step for each queue, done if the queue exists. The later deployment of the code makes
 * it their consumer.
 */
export function queueSteps({
  configuration,
  found,
  jurisdiction,
  account,
  signal,
}: Deployment): Step[] {
  const where = jurisdiction ? ['--jurisdiction', jurisdiction] : [];
  return queueNames(configuration).map((queue) => ({
    kind: 'queue',
    name: queue,
    isDone: found.queues.has(queue),
    run: async () => {
      await callWrangler(['queues', 'create', queue, ...where], signal, {
        CLOUDFLARE_ACCOUNT_ID: account,
      });
    },
  }));
}

/**
 * Refuses queues that another Worker consumes: a queue has one consumer.
 * @throws UserError
 */
export function requireOwnQueues(
  configuration: Configuration,
  { queues }: Pick<Found, 'queues'>,
): void {
  for (const { queue_name: queue, consumers } of queues.values()) {
    const other = consumers
      .map(consumerName)
      .find((name) => name !== null && name !== configuration.name);
    if (other)
      throw new UserError(
        `The Worker ${other} consumes the queue ${queue}, which is one of this service by its name.\n` +
          'Deploy to a Cloudflare account of its own, or remove that consumer.',
      );
  }
}

/**
 * Whether the Worker consumes every queue of its configuration, and its dead letters go where they
 * should.
 */
export function consumesAll(
  { name, queues = {} }: Configuration,
  found: Pick<Found, 'queues'>,
): boolean {
  return (queues.consumers ?? []).every(({ queue, dead_letter_queue: dead }) =>
    found.queues.get(queue)?.consumers.some((consumer) => {
      return consumerName(consumer) === name && (consumer.dead_letter_queue ?? dead) === dead;
    }),
  );
}

function consumerName({
  script,
  service,
  script_name,
}: FoundQueue['consumers'][number]): string | null {
  return script ?? service ?? script_name ?? null;
}

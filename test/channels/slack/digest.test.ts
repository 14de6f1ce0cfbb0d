import { expect, it } from 'vitest';
import type { DeliveryEvent } from '../../../src/db/schema';
import { digestMessage } from '../../../src/receivers/channels/slack/service-messages';
import { textsOf } from './scene';

const of = (event: DeliveryEvent, aboutPermission: string) => ({ event, aboutPermission });

it('a digest in Slack tells requests that wait from ended ones and from unknown outcomes', () => {
  const { blocks } = digestMessage(
    [
      of('permission.requested', 'a'),
      of('permission.escalated', 'a'),
      of('permission.decided', 'b'),
      of('permission.expired', 'c'),
      of('permission.outcome_missing', 'd'),
    ],
    'https://countersign.test/console',
  );
  expect(textsOf(blocks)).toContain(
    '1 more request waits for a decision. 2 more requests have ended. The outcome of 1 more act is unknown.',
  );
});

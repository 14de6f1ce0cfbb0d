/**
 * The demo user's decision on a request. `leave` decides nothing; `narrow` approves with the
 * narrower scope.
 */
export type Verdict = 'approve' | 'deny' | 'leave' | { narrow: Record<string, unknown> };

/** A request that an agent makes repeatedly, with varying resources. */
export interface RequestTemplate {
  action: string;
  /** Used in turn. */
  resources: string[];
  scope: Record<string, unknown>;
  reason: string;
  /** How often the agent uses each token. */
  uses: number;
  /** The user's decisions and the reasons for them, used in turn. */
  verdicts: [Verdict, string][];
}

/** An agent of the demo. */
export interface DemoAgent {
  name: string;
  description: string;
  team: string;
  templates: RequestTemplate[];
}

/** How often each agent makes each of its requests. */
export const ROUNDS = 12;

export const DEMO_AGENTS: DemoAgent[] = [
  {
    name: 'Support assistant',
    description: 'Answers customers and closes their tickets',
    team: 'support',
    templates: [
      {
        action: 'email.send',
        resources: ['mailbox:support', 'mailbox:status'],
        scope: { max_recipients: 50, templates: ['welcome', 'refund', 'outage'] },
        reason: 'Tell customers how their case stands',
        uses: 3,
        verdicts: [
          ['approve', 'Routine mail'],
          [
            { narrow: { max_recipients: 5, templates: ['refund'] } },
            'Refund mails only, a few at a time',
          ],
          ['approve', 'Routine mail'],
          ['deny', 'Outage mails are for people to send'],
        ],
      },
      {
        action: 'ticket.close',
        resources: ['queue:billing', 'queue:technical', 'queue:shipping'],
        scope: { max_tickets: 20 },
        reason: 'The customers said that they are content',
        uses: 2,
        verdicts: [
          ['approve', 'Fine'],
          ['approve', 'Fine'],
          ['leave', ''],
        ],
      },
    ],
  },
  {
    name: 'Billing assistant',
    description: 'Issues refunds and chases invoices',
    team: 'finance',
    templates: [
      {
        action: 'refund.issue',
        resources: ['order:10482', 'order:10517', 'order:10533', 'order:10561'],
        scope: { max_amount: 500, currency: 'EUR' },
        reason: 'The parcel arrived damaged',
        uses: 1,
        verdicts: [
          [{ narrow: { max_amount: 50, currency: 'EUR' } }, 'Up to 50 EUR without a photo'],
          ['approve', 'Photo seen'],
          ['deny', 'Outside the return period'],
        ],
      },
      {
        action: 'invoice.remind',
        resources: ['customer:acme', 'customer:globex'],
        scope: { tone: 'friendly' },
        reason: 'Two weeks overdue',
        uses: 1,
        verdicts: [
          ['approve', 'Go ahead'],
          ['approve', 'Go ahead'],
          ['approve', 'Go ahead'],
          ['leave', ''],
        ],
      },
    ],
  },
  {
    name: 'Deployment bot',
    description: 'Ships releases and rolls them back',
    team: 'platform',
    templates: [
      {
        action: 'deploy.start',
        resources: ['service:api', 'service:web'],
        scope: { environments: ['staging', 'production'], max_instances: 12 },
        reason: 'All checks are green',
        uses: 2,
        verdicts: [
          [{ narrow: { environments: ['staging'], max_instances: 2 } }, 'Staging first'],
          ['approve', 'Ship it'],
        ],
      },
      {
        action: 'secret.read',
        resources: ['vault:production'],
        scope: { keys: ['database', 'payments'] },
        reason: 'Needed for the migration',
        uses: 1,
        verdicts: [
          ['deny', 'No agent reads production secrets'],
          ['deny', 'No agent reads production secrets'],
          [{ narrow: { keys: ['database'] } }, 'The database alone, this once'],
        ],
      },
    ],
  },
  {
    name: 'Data analyst',
    description: 'Answers questions about sales',
    team: 'insight',
    templates: [
      {
        action: 'table.read',
        resources: ['table:orders', 'table:returns', 'table:customers'],
        scope: { max_rows: 100_000, columns: ['id', 'country', 'amount', 'email'] },
        reason: 'Monthly report',
        uses: 4,
        verdicts: [
          [
            { narrow: { max_rows: 10_000, columns: ['id', 'country', 'amount'] } },
            'Without personal data',
          ],
          ['approve', 'Agreed with the data owner'],
          [{ narrow: { max_rows: 1_000, columns: ['country', 'amount'] } }, 'A sample will do'],
        ],
      },
      {
        action: 'report.publish',
        resources: ['channel:board', 'channel:sales'],
        scope: { max_readers: 200 },
        reason: 'The report is ready',
        uses: 1,
        verdicts: [
          ['leave', ''],
          ['approve', 'Looks right'],
        ],
      },
    ],
  },
];

/** The user's answer to a request; null leaves it waiting. */
export type Answer = {
  decision: 'approved' | 'narrowed' | 'denied';
  reason: string;
  /** The narrower scope that is granted. */
  scope?: Record<string, unknown>;
} | null;

/** A request that an agent makes in each round. Resources and answers are used in turn. */
export interface Ask {
  action: string;
  resources: string[];
  scope: Record<string, unknown>;
  reason: string;
  /** How often a token can be used. */
  uses: number;
  answers: Answer[];
}

/** An agent and what it asks for. */
export interface Scene {
  name: string;
  description: string;
  team: string;
  asks: Ask[];
}

const approve = (reason: string): Answer => ({ decision: 'approved', reason });
const deny = (reason: string): Answer => ({ decision: 'denied', reason });
const narrow = (scope: Record<string, unknown>, reason: string): Answer => ({
  decision: 'narrowed',
  reason,
  scope,
});

/** How often each agent asks for everything. */
export const ROUNDS = 16;

export const SCENES: Scene[] = [
  {
    name: 'Support assistant',
    description: 'Answers customers and closes their tickets',
    team: 'support',
    asks: [
      {
        action: 'email.send',
        resources: ['mailbox:support', 'mailbox:status'],
        scope: { max_recipients: 50, templates: ['welcome', 'refund', 'outage'] },
        reason: 'Tell customers how their case stands',
        uses: 3,
        answers: [
          approve('Routine mail'),
          narrow(
            { max_recipients: 5, templates: ['refund'] },
            'Refund mails only, a few at a time',
          ),
          approve('Routine mail'),
          deny('Outage mails are for people to send'),
        ],
      },
      {
        action: 'ticket.close',
        resources: ['queue:billing', 'queue:technical', 'queue:shipping'],
        scope: { max_tickets: 20 },
        reason: 'The customers said that they are content',
        uses: 2,
        answers: [approve('Fine'), approve('Fine'), null],
      },
    ],
  },
  {
    name: 'Billing assistant',
    description: 'Issues refunds',
    team: 'finance',
    asks: [
      {
        action: 'refund.issue',
        resources: ['order:10482', 'order:10517', 'order:10533', 'order:10561'],
        scope: { max_amount: 500, currency: 'EUR' },
        reason: 'The parcel arrived damaged',
        uses: 1,
        answers: [
          narrow({ max_amount: 50, currency: 'EUR' }, 'Up to 50 EUR without a photo'),
          approve('Photo seen'),
          null,
          deny('Outside the return period'),
        ],
      },
    ],
  },
  {
    name: 'Deployment bot',
    description: 'Ships releases and rolls them back',
    team: 'platform',
    asks: [
      {
        action: 'deploy.start',
        resources: ['service:api', 'service:web'],
        scope: { environments: ['staging', 'production'], max_instances: 12 },
        reason: 'All checks are green',
        uses: 2,
        answers: [
          narrow({ environments: ['staging'], max_instances: 2 }, 'Staging first'),
          approve('Ship it'),
        ],
      },
      {
        action: 'secret.read',
        resources: ['vault:production'],
        scope: { keys: ['database', 'payments'] },
        reason: 'Needed for the migration',
        uses: 1,
        answers: [
          deny('No agent reads production secrets'),
          deny('No agent reads production secrets'),
          narrow({ keys: ['database'] }, 'The database alone, this once'),
        ],
      },
    ],
  },
  {
    name: 'Data analyst',
    description: 'Answers questions about sales',
    team: 'insight',
    asks: [
      {
        action: 'table.read',
        resources: ['table:orders', 'table:returns', 'table:customers'],
        scope: { max_rows: 100_000, columns: ['id', 'country', 'amount', 'email'] },
        reason: 'Monthly report',
        uses: 4,
        answers: [
          narrow({ max_rows: 10_000, columns: ['id', 'amount'] }, 'Without personal data'),
          approve('Agreed with the data owner'),
          narrow({ max_rows: 1_000, columns: ['country', 'amount'] }, 'A sample will do'),
        ],
      },
    ],
  },
];

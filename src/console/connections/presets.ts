import type { ConnectionRule } from '../../connections/rules/rule';
import { type ConnectionValues, NEW_VALUES, ruleValuesOf } from './values';

/** A service whose connection the form fills in. */
interface Preset {
  name: string;
  /** Its text in the list of services to choose from. */
  about: string;
  values: Partial<ConnectionValues>;
}

const rulesOf = (rules: Partial<ConnectionRule>[]) =>
  rules.map((rule) => ruleValuesOf({ effect: 'ask', whole_input: false, ...rule }));

const READS = { methods: ['GET' as const, 'HEAD' as const], effect: 'allow' as const };
const READS_THEN_ASK = rulesOf([READS, {}]);
const bearer = { authType: 'header', header: 'Authorization', prefix: 'Bearer ' } as const;

/** The services by their names in the address of the form. */
export const PRESETS: Record<string, Preset> = {
  github: {
    name: 'GitHub',
    about: 'Reads are sent at once. Merging, opening and everything else needs permission.',
    values: {
      ...{ name: 'GitHub', slug: 'github', base_url: 'https://api.github.com', ...bearer },
      forward_headers: 'Accept, Content-Type, X-GitHub-Api-Version',
      rules: rulesOf([
        READS,
        {
          methods: ['PUT'],
          paths: ['/repos/*/pulls/*/merge'],
          action: 'github.merge',
          title: 'Merge a pull request',
        },
        {
          methods: ['POST'],
          paths: ['/repos/*/issues', '/repos/*/pulls'],
          action: 'github.open',
          title: 'Open: {title}',
        },
        {},
      ]),
    },
  },
  stripe: {
    name: 'Stripe',
    about:
      'Reads are sent at once. Everything else needs permission. Refunds and payouts show their amount.',
    values: {
      ...{ name: 'Stripe', slug: 'stripe', base_url: 'https://api.stripe.com', ...bearer },
      forward_headers: 'Accept, Content-Type, Stripe-Version',
      rules: rulesOf([
        READS,
        {
          methods: ['POST'],
          paths: ['/v1/refunds'],
          action: 'stripe.refund',
          scope: { amount: '{amount}' },
          title: 'Refund {amount} of {payment_intent}',
        },
        {
          methods: ['POST'],
          paths: ['/v1/payouts'],
          action: 'stripe.payout',
          scope: { amount: '{amount}', currency: '{currency}' },
          title: 'Pay out {amount} {currency}',
        },
        {},
      ]),
    },
  },
  slack: {
    name: 'Slack',
    about:
      'Lists and infos are sent at once. Everything else needs permission. Messages show their channel and text.',
    values: {
      ...{ name: 'Slack', slug: 'slack', base_url: 'https://slack.com/api', ...bearer },
      rules: rulesOf([
        { paths: ['/auth.test', '/*.list', '/*.info'], effect: 'allow' },
        {
          methods: ['POST'],
          paths: ['/chat.postMessage'],
          action: 'slack.message',
          scope: { channel: '{channel}' },
          title: 'Post to {channel}: {text}',
        },
        {},
      ]),
    },
  },
  openai: {
    name: 'OpenAI',
    about:
      'Questions to models and reads are sent at once. Files, tuning and everything else needs permission.',
    values: {
      ...{ name: 'OpenAI', slug: 'openai', base_url: 'https://api.openai.com/v1', ...bearer },
      rules: rulesOf([
        READS,
        {
          methods: ['POST'],
          paths: ['/chat/completions', '/responses', '/embeddings', '/moderations'],
          effect: 'allow',
        },
        {},
      ]),
    },
  },
  other: {
    name: 'Another service',
    about: 'Reads are sent at once. Everything else needs permission.',
    values: { ...bearer, rules: READS_THEN_ASK },
  },
};

/** The first values of the form for a preset; those of another service for an unknown one. */
export function valuesOfPreset(name: string): ConnectionValues {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : PRESETS.other;
  return { ...NEW_VALUES, ...preset?.values };
}

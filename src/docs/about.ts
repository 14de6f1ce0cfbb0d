import { SCOPES } from '../http/context';
import type { Tag } from '../http/operation';

/** The title and introduction of the OpenAPI document: what holds for every operation. */
export const INFO = {
  title: 'Countersign',
  version: '1.0.0',
  summary: 'Permissions for AI agents, and an audit log of their use',
  description: `
An agent asks for permission to do one thing: an action on a resource, within limits. A policy or a person approves,
narrows or denies it. An approval yields a short-lived token that is used, expires or is revoked. Every step is in an
audit log, which is written in the same transaction as the step.

**Credentials** are sent as \`Authorization: Bearer <credential>\`. A user token acts within its scopes:
${SCOPES.map((scope) => `\`${scope}\``).join(', ')}.

**Bodies** are JSON in UTF-8, at most 1 MiB, 64 levels and 20,000 values. Unknown fields and unknown query parameters
are refused. Names, descriptions and reasons are trimmed. Lengths of texts count Unicode code points. A text that
contains NUL or a lone surrogate is refused. An absent body counts as \`{}\`.

**Times** in answers are ISO 8601 in UTC, with milliseconds. **Identifiers** are a prefix and 26 characters, and sort by
the time of creation. A malformed identifier in a path, or one of another account, is answered like an unknown one.

**Lists** are \`{data, has_more, next_cursor}\`. A cursor is opaque, and works only with the same account and the same
filters. Items that are added while a client pages cause neither a duplicate nor a gap.

**Errors** are problem documents (RFC 9457), \`application/problem+json\`, of at most 8 KiB, with a stable \`code\`.
\`detail\` says what is wrong or what to do; \`errors\` names the invalid fields.

**Retries** of a POST are safe with an \`Idempotency-Key\`. Every answer has an \`X-Request-Id\`.`.trim(),
};

const DESCRIPTIONS: Record<Tag, string> = {
  Agents: 'Programs that may request permissions, their keys and their statistics.',
  Permissions: 'Requests of agents, and the decisions of people.',
  Tokens: 'The tokens of approved permissions: how to use, introspect, verify and revoke them.',
  Policies: 'Rules that decide requests at once.',
  Audit:
    'The log of every step with its proofs, exports and reports, and the activity of people in the account.',
  Webhooks: 'Where events are sent as they happen, and the deliveries with their attempts.',
  Channels:
    'Notify people of requests, decisions and disabled webhooks, by e-mail and in Slack; and what each person chose.',
  Connections:
    'Other services to which Countersign itself sends what agents may do there, with credentials that no agent holds.',
  Account: 'The account that a user token belongs to, and its user tokens.',
  Members: 'The people of the account: their roles, invitations and status.',
  Operator: 'Accounts, for the operator of the deployment.',
  Service: 'The health of the service, this reference and the guides.',
};

/** The headings of the API reference, in its order. */
export const TAGS = Object.entries(DESCRIPTIONS).map(([name, description]) => ({
  name,
  description,
}));

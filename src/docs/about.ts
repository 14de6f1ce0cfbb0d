import { SCOPES } from '../http/context';
import type { Tag } from '../http/operation';

/** The description of the API, and of what holds for every operation. */
export const INFO = {
  title: 'Countersign',
  version: '1.0.0',
  summary: 'Permissions for AI agents, and the log of what became of them',
  description: `
An agent asks for permission to do one thing: an action on a resource, within limits. A policy or a person approves,
narrows or denies it. An approval yields a short-lived token that is used, expires or is revoked. Every step stands in an
audit log that is written in the same transaction as the step.

**Credentials** are presented as \`Authorization: Bearer <credential>\`. A user token acts within its scopes:
${SCOPES.map((scope) => `\`${scope}\``).join(', ')}.

**Bodies** are JSON in UTF-8, at most 1 MiB, 64 levels and 20,000 values. Unknown fields and unknown query parameters
are refused. Texts are trimmed; their lengths count Unicode code points. A text that holds NUL or a lone surrogate is
refused. An absent body is \`{}\`.

**Times** are ISO 8601 in UTC, with milliseconds. **Identifiers** are a prefix and 26 characters, and sort by time. A
malformed one in a path is answered like an unknown one; one of another account too.

**Lists** are \`{data, has_more, next_cursor}\`. A cursor is opaque, and good for the same account and the same filters.
What is added while a client pages causes neither a duplicate nor a gap.

**Errors** are problem documents (RFC 9457), \`application/problem+json\`, of at most 8 KiB, with a stable \`code\`.
\`detail\` says what to do about it; \`errors\` names the fields at fault.

**Sending again** is safe with an \`Idempotency-Key\`, for every POST. Every answer carries \`X-Request-Id\`.`.trim(),
};

const DESCRIPTIONS: Record<Tag, string> = {
  Agents: 'Programs that may ask for permissions, their keys and their statistics.',
  Permissions: 'What agents ask for, and the decisions of people.',
  Tokens: 'What an approval yields: a token is used, introspected and revoked.',
  Policies: 'Rules that decide requests on the spot.',
  Audit: 'The log of every step, and of what people did to the account.',
  Webhooks: 'Where events are sent as they happen, and what became of each delivery.',
  Account: 'The account that a user token belongs to, and its user tokens.',
  Operator: 'Accounts, for who runs the deployment.',
  Service: 'The service itself.',
};

/** The headings under which operations stand, in the order of a first reading. */
export const TAGS = Object.entries(DESCRIPTIONS).map(([name, description]) => ({ name, description }));

import { marked } from 'marked';
import type { Permission } from '../../../src/permissions/permission';
import type { Review } from '../../../src/permissions/reviews/review';
import type { PermissionMessage } from '../../../src/receivers/channels/message';

export const NOW = Date.UTC(2026, 0, 31, 12, 0, 0, 0);
export const TO = { address: 'ada@example.com', name: 'Ada Lovelace' };

/** The time so many minutes after NOW. */
export function minutesLater(minutes: number): string {
  return new Date(NOW + minutes * 60_000).toISOString();
}

const PERMISSION: Permission = {
  id: 'perm_01m7x1m1tre75vaz5yvpbmvt6m',
  agent_id: 'agent_01m7x1m1tre75vaz5yvpbmvt6m',
  action: 'email.send',
  resource: 'mailbox:support',
  scope: { max_recipients: 50, domains: ['blue', 'green'], budget: { max_amount: 1840.5 } },
  granted_scope: null,
  reason: 'The customer asked again.\nThe address was checked.',
  status: 'pending',
  decided_by: null,
  decided_at: null,
  decision_reason: null,
  policy_id: null,
  token: null,
  expires_at: minutesLater(115),
  created_at: minutesLater(0),
  updated_at: minutesLater(0),
  title: 'Reply to ticket 4711',
  input_digest: null,
  preview_digest: null,
  external_id: null,
  connection_id: null,
  review: null,
  series: null,
  granted_series: null,
  outcome: null,
  input: { secret: 'of the input' },
  preview: { title: 'Reply to ticket 4711', summary: 'of the preview' },
};

export const REVIEW: Review = {
  approvals_required: 2,
  escalates_at: null,
  short_of_reviewers: false,
  proposal: { scope: { ...PERMISSION.scope, max_recipients: 10 }, token_ttl: 900, max_uses: 1 },
  votes: [
    {
      by: 'member_01m7x1m1tre75vaz5yvpbmvt6m',
      name: 'Grace Hopper',
      decision: 'approve',
      scope: {},
      token_ttl: 900,
      max_uses: 1,
      reason: null,
      via: 'console',
      signed: false,
      at: minutesLater(-5),
    },
  ],
};

export const CARD = 'https://countersign.test/console/permissions/perm_01m7x1m1tre75vaz5yvpbmvt6m';

/** A message about a request that waits, with changes to the permission and to the message. */
export function message(
  changes: Partial<Permission> = {},
  others: Partial<PermissionMessage> = {},
): PermissionMessage {
  return {
    event: 'permission.requested',
    isReminder: false,
    permission: { ...PERMISSION, ...changes },
    agentName: 'Support assistant',
    decidedBy: null,
    url: CARD,
    ...others,
  };
}

/** A message in which every text that an agent or a person wrote is the same. */
export function messageWith(text: string, changes: Partial<Permission> = {}): PermissionMessage {
  return message(
    {
      action: text,
      resource: text,
      title: text,
      reason: text,
      decision_reason: text,
      scope: { [text]: text, list: [text, text] },
      status: 'approved',
      decided_at: minutesLater(-1),
      granted_scope: { [text]: `${text} narrowed` },
      ...changes,
    },
    { event: 'permission.decided', agentName: text, decidedBy: text },
  );
}

/** What an HTML parser finds in a page: every element, and every attribute with its value. */
export async function parseHtml(
  html: string,
): Promise<{ elements: string[]; attributes: [string, string][] }> {
  const elements: string[] = [];
  const attributes: [string, string][] = [];
  const parser = new HTMLRewriter().on('*', {
    element(element) {
      elements.push(element.tagName);
      attributes.push(...([...element.attributes] as [string, string][]));
    },
  });
  await parser.transform(new Response(html)).text();
  return { elements, attributes };
}

/**
 * Like the patterns by which Android finds links: characters beyond ASCII may be in a label, but
 * not in the last one.
 */
const LIKE_ANDROID =
  /(?:https?|rtsp|ftp):\/\/\S+|[a-z0-9\u00a1-\ud7ff][a-z0-9\u00a1-\ud7ff-]*\.[a-z]{2,63}\b/giu;

/**
 * What a client would turn into links in a text: what GitHub's autolinks are, and what Android
 * finds.
 */
export function findLinks(text: string): string[] {
  const links: string[] = [];
  marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === 'link') links.push(token.href);
  });
  return [...links, ...(text.match(LIKE_ANDROID) ?? [])];
}

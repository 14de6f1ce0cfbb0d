import { isDeepStrictEqual } from 'node:util';
import type { Findings } from '../findings.ts';
import { markOfRequest } from '../load/permissions.ts';
import type { KnownWebhook, Memory, ShownEntry } from '../memory.ts';
import type { Mailbox, Receiver } from '../receiver.ts';
import type { StoredAccount } from '../stored.ts';

/**
 * Compares the messages that arrived with the log: each entry arrived at least once, under one id,
 * as the API shows it, and nothing else arrived. A disabled webhook gets no entries of that time,
 * and all entries after it is enabled again.
 */
export function checkWebhooks(
  findings: Findings,
  memory: Memory,
  account: StoredAccount,
  shown: ShownEntry[],
  receiver: Receiver,
): void {
  for (const webhook of memory.webhooks) {
    const mailbox = receiver.mailbox(webhook.path);
    checkMessages(findings, memory, account, shown, mailbox);
    const found = account.webhooks.get(webhook.id);
    const hold = (holds: boolean, difference: () => string) =>
      findings.check(
        holds,
        'webhook',
        () => `${memory.traits.name}: ${webhook.id} ${difference()}`,
      );
    hold(found !== undefined || !webhook.alive, () => 'does not exist');
    checkSilences(findings, webhook, shown, mailbox);
    if (!webhook.alive || !found || webhook.isOn === null) continue;
    hold(found.isActive === webhook.isOn, () => `is ${found.isActive ? 'enabled' : 'disabled'}`);
    if (!webhook.isOn) continue;
    const { startsAfter } = found;
    for (const { id, sequence, event, details } of account.entries) {
      const isDue = sequence > startsAfter;
      hold(mailbox.told.has(id) || !isDue, () => `never got entry ${sequence}`);
      // It may have got the entry before it was disabled.
      hold(
        isDue || webhook.silences.length > 0 || !mailbox.told.has(id),
        () => `got entry ${sequence}, which came before it`,
      );
      const step = event === 'request' ? memory.steps.get(markOfRequest(details)) : undefined;
      hold(
        isDue || !step || step.sentAt <= webhook.madeAt,
        () => `starts after entry ${sequence}, which came later than the webhook`,
      );
    }
    const finished = [...account.files.values()]
      .filter(({ status }) => status === 'completed')
      .map(({ id }) => id);
    for (const file of memory.files.filter(
      ({ sentAt, id }) => sentAt > webhook.madeAt && finished.includes(id),
    )) {
      hold(mailbox.told.has(file.id), () => `never got the event of ${file.id}`);
    }
  }
}

function checkMessages(
  findings: Findings,
  { traits: { name, losesAgents } }: Memory,
  account: StoredAccount,
  shown: ShownEntry[],
  { told, faults }: Mailbox,
): void {
  const entries = new Map(shown.map((entry) => [entry.id, entry]));
  const known = new Set(account.entries.map(({ id }) => id));
  for (const fault of faults) findings.differ('webhook', `${name}: ${fault}`);
  for (const [subject, { ids, bodies }] of told) {
    const hold = (holds: boolean, difference: () => string) =>
      findings.check(holds, 'webhook', () => `${name}: ${subject} ${difference()}`);
    hold(
      ids.size === 1 && bodies.size === 1,
      () => `arrived under the ids ${[...ids]} with the bodies ${[...bodies]}`,
    );
    hold(known.has(subject) || account.files.has(subject) || losesAgents, () => 'is unknown');
    const entry = entries.get(subject);
    const [body = ''] = bodies;
    hold(
      !entry || isDeepStrictEqual(JSON.parse(body), messageOf(entry)),
      () => `arrived as ${body}`,
    );
  }
}

/** The message of an entry. */
function messageOf({
  id,
  event_type,
  agent_id,
  permission_request_id,
  details,
  created_at,
}: ShownEntry) {
  const data = { id, event_type, agent_id, permission_request_id, details };
  return { event: 'audit.created', timestamp: created_at, data };
}

function checkSilences(
  findings: Findings,
  { id, silences }: KnownWebhook,
  shown: ShownEntry[],
  { told }: Mailbox,
): void {
  for (const { from, to } of silences) {
    for (const entry of shown) {
      const at = Date.parse(entry.created_at);
      const isOfThen = at > from && at < to;
      findings.check(
        !isOfThen || !told.has(entry.id),
        'webhook',
        () => `${id} was disabled, but got entry ${entry.sequence}`,
      );
    }
  }
}

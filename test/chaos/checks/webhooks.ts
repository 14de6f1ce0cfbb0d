import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { Receiver } from '../receiver.ts';
import type { StoredAccount } from '../stored.ts';

/** Compares what arrived with the log: each entry at least once, under one id, and nothing else. */
export function checkWebhooks(findings: Findings, memory: Memory, account: StoredAccount, receiver: Receiver): void {
  const { name, losesAgents } = memory.traits;
  const entries = new Map(account.entries.map((entry) => [entry.id, entry]));
  const outcomes = [...account.files.values()].filter(({ status }) => status === 'completed').map(({ id }) => id);
  for (const { id, path, alive, madeAt } of memory.webhooks) {
    const mailbox = receiver.mailbox(path);
    for (const fault of mailbox.faults) findings.differ('webhook', `${name}: ${fault}`);
    for (const [subject, ids] of mailbox.told) {
      findings.check(ids.size === 1, 'webhook', () => `${name}: ${subject} came under ${[...ids]}`);
      const isKnown = entries.has(subject) || account.files.has(subject) || losesAgents;
      findings.check(isKnown, 'webhook', () => `${name}: ${subject} is nothing that there is`);
    }
    const startsAfter = account.webhooks.get(id);
    findings.check((startsAfter !== undefined) === alive || !alive, 'webhook', () => `${name}: ${id} is gone`);
    if (!alive || startsAfter === undefined) continue;
    for (const { id: entry, sequence } of account.entries) {
      const isDue = sequence > startsAfter;
      findings.check(mailbox.told.has(entry) || !isDue, 'webhook', () => `${name}: ${sequence} never came to ${id}`);
      findings.check(isDue || !mailbox.told.has(entry), 'webhook', () => `${name}: ${sequence} came to ${id}`);
    }
    for (const file of memory.files.filter(({ sentAt, id }) => sentAt > madeAt && outcomes.includes(id))) {
      findings.check(mailbox.told.has(file.id), 'webhook', () => `${name}: ${file.id} never came to ${id}`);
    }
  }
}

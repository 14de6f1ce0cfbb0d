import type { Findings } from '../findings.ts';
import { ACTS } from '../load/connections.ts';
import { markOfRequest } from '../load/permissions.ts';
import type { Memory, Step } from '../memory.ts';
import type { StoredAccount, StoredEntry } from '../stored.ts';

/** Compares the log with the requests that were sent and their answers. */
export function checkLog(findings: Findings, memory: Memory, account: StoredAccount): void {
  checkSequences(findings, memory, account);
  checkSteps(findings, memory, account);
  checkUses(findings, memory, account);
}

/**
 * Checks that every sequence is either an entry or recorded as erased, and erased only for a reason
 * that occurred.
 */
function checkSequences(
  findings: Findings,
  memory: Memory,
  { entries, erased, erasedSequence }: StoredAccount,
): void {
  const { name, losesAgents } = memory.traits;
  const ranges = erased.flatMap(({ reason, ranges }) =>
    ranges.map(([first, last]) => ({ first, last, reason })),
  );
  for (const { reason, last } of ranges) {
    const isAllowed = reason === 'retention' ? last <= memory.pastEntries : losesAgents;
    findings.check(
      isAllowed,
      'erased without a reason',
      () => `${name}: erased for ${reason} up to entry ${last}`,
    );
  }
  const gone = new Set(
    ranges.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, i) => first + i),
    ),
  );
  const present = new Set(entries.map(({ sequence }) => sequence));
  const last = Math.max(erasedSequence, entries.at(-1)?.sequence ?? 0);
  for (let sequence = 1; sequence <= last; sequence++) {
    const isOne = present.has(sequence) !== gone.has(sequence);
    findings.check(
      isOne,
      'sequence',
      () =>
        `${name}: ${sequence} is ${present.has(sequence) ? 'both an entry and erased' : 'neither an entry nor erased'}`,
    );
  }
  findings.check(
    Math.max(0, ...gone) <= last,
    'sequence',
    () => `${name}: a record of erasure ends after the last entry, ${last}`,
  );
  for (const [i, entry] of entries.entries()) {
    const before = entries[i - 1];
    const isLater = !before || before.createdAt <= entry.createdAt;
    findings.check(isLater, 'time runs backwards', () => `${name}: entry ${entry.sequence}`);
  }
}

/**
 * Checks that every successful step has exactly one entry, and every entry a step that was sent and
 * not refused.
 */
function checkSteps(findings: Findings, memory: Memory, account: StoredAccount): void {
  const { name } = memory.traits;
  const kept = keptAgents(memory, account);
  const counted = new Map<string, StoredEntry[]>();
  for (const entry of account.entries) {
    const mark = markOf(entry);
    if (mark === null) continue;
    counted.set(mark, [...(counted.get(mark) ?? []), entry]);
    const step = memory.steps.get(mark);
    const isAsked =
      step?.event === entry.event && (step.permission ?? entry.permission) === entry.permission;
    findings.check(isAsked, 'entries without a request', () => `${name}: ${describe(entry)}`);
  }
  for (const [mark, step] of memory.steps) {
    const found = counted.get(mark)?.length ?? 0;
    findings.check(found <= 1, 'written twice', () => `${name}: ${step.event} ${mark}`);
    findings.check(
      step.certainty !== 'refused' || found === 0,
      'refused, but written',
      () => `${name}: ${mark}`,
    );
    // The answer to a revocation does not say whether the token was still active.
    const mustBe =
      step.certainty === 'done' &&
      step.event !== 'revoke' &&
      kept.has(step.agent.id) &&
      !isPast(memory, step);
    findings.check(
      !mustBe || found === 1,
      'answered, but not written',
      () => `${name}: ${step.event} ${mark}`,
    );
  }
  checkDecisions(findings, memory, account, kept);
}

/**
 * Checks that exactly the requests that were answered with the decision of a policy or a series have
 * that decision in the log.
 */
function checkDecisions(
  findings: Findings,
  memory: Memory,
  account: StoredAccount,
  kept: Set<string>,
): void {
  const decided = new Map(
    account.entries
      .filter(
        ({ event, details }) =>
          ['approve', 'deny'].includes(event) &&
          (details.policy_id !== null || details.decided_via === 'series'),
      )
      .map((entry) => [entry.permission, entry]),
  );
  for (const step of memory.steps.values()) {
    if (step.event !== 'request' || step.certainty !== 'done' || !step.permission) continue;
    if (!kept.has(step.agent.id) || isPast(memory, step)) continue;
    const event = decided.get(step.permission)?.event;
    const answered = { approved: 'approve', denied: 'deny' }[step.decision ?? ''];
    findings.check(
      event === answered,
      'decided differently than answered',
      () => `${step.permission}: answered ${answered}, written ${event}`,
    );
  }
}

/**
 * Checks that each answered use of a token was counted once, and no other use except those with
 * lost answers.
 */
function checkUses(findings: Findings, memory: Memory, account: StoredAccount): void {
  const counted = new Map<string, number>();
  for (const { event, permission, action } of account.entries) {
    if (event === 'use' && !action.startsWith(ACTS))
      counted.set(permission, (counted.get(permission) ?? 0) + 1);
  }
  const present = new Set(account.permissions.map(({ id }) => id));
  const old = new Set(
    account.entries
      .filter(({ sequence }) => sequence <= memory.pastEntries)
      .map((e) => e.permission),
  );
  for (const [permission, { answered, lost }] of memory.uses) {
    if (!present.has(permission) || old.has(permission)) continue;
    const uses = counted.get(permission) ?? 0;
    const isRight = uses >= answered.length && uses <= answered.length + lost;
    findings.check(
      isRight,
      'uses',
      () => `${permission}: ${answered.length} answered, ${lost} lost, ${uses} written`,
    );
    const isOnce = new Set(answered).size === answered.length && Math.max(0, ...answered) <= uses;
    findings.check(
      isOnce,
      'uses',
      () => `${permission}: the answers count the uses as ${answered}`,
    );
  }
  for (const permission of counted.keys()) {
    findings.check(
      memory.uses.has(permission),
      'entries without a request',
      () => `a use of ${permission}`,
    );
  }
}

/** The ids of the stored agents that were not deleted. */
export function keptAgents(memory: Memory, { agents }: StoredAccount): Set<string> {
  return new Set(
    memory.agents.filter(({ id, alive }) => alive !== 'no' && agents.has(id)).map(({ id }) => id),
  );
}

/** Whether a step came before the kills began: retention may erase its entries. */
function isPast(memory: Memory, step: Step): boolean {
  return step.answeredAt < memory.beganAt;
}

/**
 * The mark of the step that led to an entry; null for uses, for requests of connections, and for
 * what the service did by itself.
 */
function markOf({ event, details, action }: StoredEntry): string | null {
  if (event === 'request' && action.startsWith(ACTS)) return null;
  if (event === 'request') return markOfRequest(details);
  if (event === 'revoke') return String(details.decision_reason);
  if (details.decided_via === 'series') return null;
  if ((event === 'approve' || event === 'deny') && details.policy_id === null)
    return String(details.decision_reason);
  return null;
}

function describe({ sequence, event, permission }: StoredEntry): string {
  return `${event} ${permission} at ${sequence}`;
}

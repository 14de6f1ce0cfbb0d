import type { Api } from '../api.ts';
import type { AuditEntry, Page } from './types.ts';

/** Returns all audit entries that match the filters, fetched page by page. */
export async function searchAudit(user: Api, filters: Record<string, string>): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ ...filters, limit: '200', ...(cursor && { cursor }) });
    const page: Page<AuditEntry> = await user.call('GET', `/v1/audit?${query}`);
    entries.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor);
  return entries;
}

/** Counts the entries of each event type, the most frequent first. */
export function countEvents(entries: AuditEntry[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { event_type } of entries) counts.set(event_type, (counts.get(event_type) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

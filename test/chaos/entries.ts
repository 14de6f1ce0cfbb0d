import type { Memory, ShownEntry } from './memory.ts';

const PAGE = 1_000;

/** Reads the whole log of an account, as the API shows it. */
export async function readEntries({ user, traits }: Memory): Promise<ShownEntry[]> {
  const entries: ShownEntry[] = [];
  for (let cursor = ''; ; ) {
    const page = await user.repeat<{ data: ShownEntry[]; next_cursor: string | null }>(
      'GET',
      `/v1/audit?order=asc&limit=${PAGE}${cursor}`,
    );
    if (page?.status !== 200)
      throw new Error(`the log of ${traits.name} cannot be read: ${JSON.stringify(page)}`);
    entries.push(...page.body.data);
    if (page.body.next_cursor === null) return entries;
    cursor = `&cursor=${encodeURIComponent(page.body.next_cursor)}`;
  }
}

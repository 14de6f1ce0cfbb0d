import { formatHexId } from '../../src/lib/typeid';
import { isSigned } from './tree';
import { ORIGIN, type World } from './world';

const REASONS = ['agent_deleted', 'retention'];

/** Notes whose signatures are already verified: most notes do not change between two checks. */
const known = new Set<string>();

/** Whether a note has this text and is signed under this name with the key of the service. */
export async function isSignedText(
  world: World,
  text: string,
  name: string,
  note: string,
): Promise<boolean> {
  const claim = `${name}\n${text}\n${note}`;
  if (!known.has(claim) && note.startsWith(text) && (await isSigned(world, text, name, note)))
    known.add(claim);
  return known.has(claim);
}

/** Checks that every record of an erasure has a valid signature; returns the faults, in words. */
export async function checkRecords(database: D1Database, world: World): Promise<string[]> {
  const { results } = await database
    .prepare(
      `select hex(accounts.id) as account, reason, ranges, erased_entries.erased_at as at, note
       from erased_entries join accounts on number = account`,
    )
    .all<{ account: string; reason: number; ranges: string; at: number; note: string }>();
  const faults: string[] = [];
  for (const { account, reason, ranges, at, note } of results) {
    const name = `${new URL(ORIGIN).host}/${formatHexId('user', account)}`;
    const places = (JSON.parse(ranges) as [number, number][])
      .map(([first, last]) => `${first}-${last}`)
      .join(' ');
    const lines = [
      'countersign/erasure/v1',
      name,
      REASONS[reason],
      `erased ${new Date(at).toISOString()}`,
      places,
    ];
    if (!(await isSignedText(world, `${lines.join('\n')}\n`, name, note))) {
      faults.push(`the record that ${ranges} of ${name} are erased is not signed`);
    }
  }
  return faults;
}
